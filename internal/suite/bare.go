package suite

import (
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// Bare is a copy of the suite with what is needed to play instances, for machines that must not know the answers:
// worlds, tools, requests and the parameters of conditions. Certificates, transcripts, verdicts and rejections are left
// out, and of each task its SQL, right answer and plans, unless whole says that the task is needed with them.
//
// Conditions of the toolkit choose what is shown around the tools of the plans: tasks under one keep the names of these
// tools, without calls. The queries from which neighbours are grown remain, without the names of tasks.
func (s *Suite) Bare(whole func(t *task.Task) bool) *Suite {
	b := *s
	chosen := map[string]bool{}
	for _, in := range s.Instances {
		for _, c := range in.Conditions {
			chosen[in.Task] = chosen[in.Task] || c.OfToolkit()
		}
	}
	b.Tasks = make([]*task.Task, len(s.Tasks))
	for i, t := range s.Tasks {
		if whole(t) {
			b.Tasks[i] = t
			continue
		}
		b.Tasks[i] = &task.Task{
			ID: t.ID, Corpus: t.Corpus, Database: t.Database, Style: t.Style, Source: t.Source, Variant: t.Variant,
			Split: t.Split, Messages: t.Messages, Evidence: t.Evidence, Starts: t.Starts, Proof: t.Proof,
			Gold: task.Gold{Kind: task.GoldDecline},
		}
		if chosen[t.ID] {
			b.Tasks[i].Plans = []task.Plan{toolsOf(t)}
		}
	}
	b.Certificates, b.Rejected, b.Transcripts, b.Verdicts, b.Written, b.Twins = nil, nil, nil, nil, nil, nil
	b.Documents = nil
	b.Manifest.Counts = Counts{}
	return &b
}

// toolsOf is a plan of the tools that the plans of a task call, each once, in the order of their names.
func toolsOf(t *task.Task) (p task.Plan) {
	var names []string
	for i := range t.Plans {
		for j := range t.Plans[i].Calls {
			names = append(names, t.Plans[i].Calls[j].Tool)
		}
	}
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		p.Calls = append(p.Calls, task.Call{Label: fmt.Sprintf("c%d", i+1), Tool: name})
	}
	return p
}

// Databases lists the files of the suite's databases by name.
func (s *Suite) Databases() (map[string]string, error) {
	files := map[string]string{}
	for _, d := range s.Manifest.Databases {
		path, err := s.DatabasePath(d.Name)
		if err != nil {
			return nil, fmt.Errorf("database %s: %w", d.Name, err)
		}
		files[d.Name] = path
	}
	return files, nil
}
