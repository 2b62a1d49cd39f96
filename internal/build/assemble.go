package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/compile"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/universe"
)

// assemble makes the suite of what was published.
func (b *builder) assemble() (*Built, error) {
	s := &suite.Suite{Tools: map[string][]*universe.Tool{universe.StyleFunc: b.tools}}
	files := map[string]string{}
	for _, src := range b.sources {
		if src.world == nil {
			continue
		}
		s.Manifest.Databases = append(s.Manifest.Databases, suite.DatabaseFile{
			Name: src.name, File: suite.DirDatabases + "/" + src.name + ".sqlite", Description: src.schema.Description,
		})
		files[src.name] = src.file
	}
	slices.SortFunc(s.Manifest.Databases, func(x, y suite.DatabaseFile) int { return strings.Compare(x.Name, y.Name) })

	variants := map[string][]*item{}
	for _, src := range b.sources {
		for _, v := range src.variants {
			variants[v.variantOf] = append(variants[v.variantOf], v)
		}
	}
	var published []*item
	for _, it := range b.items {
		if it.rejection == nil {
			published = append(published, it)
			for _, v := range variants[it.id] {
				if v.rejection == nil {
					published = append(published, v)
				}
			}
			continue
		}
		// A variant of an example that was rejected has nothing to stand beside.
		for _, v := range variants[it.id] {
			v.reject(b, it.rejection.Reason, 0, 0, "its source is rejected: "+it.rejection.Message)
		}
	}
	validation := b.split(published)
	for _, it := range published {
		b.publish(s, it, validation[it.root()])
	}
	s.Rejected = b.rejections(variants)
	s.Recipes = b.recipes()
	b.manifest(s, published)
	built := &Built{Suite: s, Databases: files}
	for _, c := range b.corpora {
		built.Warnings = append(built.Warnings, c.Warnings...)
	}
	return built, nil
}

// root gives the id of the example that an item or its source is.
func (it *item) root() string {
	if it.variantOf != "" {
		return it.variantOf
	}
	return it.id
}

// split puts a share of the examples on the validation side. Examples with the same direct plan's function stay
// together, and so do variants with their source, so that nothing is tuned on what is tested.
func (b *builder) split(published []*item) map[string]bool {
	groups := map[string][]string{}
	total := 0
	for _, it := range published {
		if it.variantOf == "" {
			key := it.proof.Plans[0].Calls[0].Tool // the direct plan's one call
			groups[key] = append(groups[key], it.id)
			total++
		}
	}
	keys := make([]string, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y string) int {
		return cmp.Or(
			strings.Compare(universe.Hash(b.opts.Seed, "split", x), universe.Hash(b.opts.Seed, "split", y)), strings.Compare(x, y),
		)
	})
	want := int(float64(total)*b.opts.ValidationShare + 0.5)
	chosen := map[string]bool{}
	for _, k := range keys {
		if len(chosen)+len(groups[k]) > want {
			continue
		}
		for _, id := range groups[k] {
			chosen[id] = true
		}
	}
	return chosen
}

// publish makes the task, its clean instance and its certificate.
func (b *builder) publish(s *suite.Suite, it *item, validation bool) {
	plans := it.proof.Plans
	t := &universe.Task{
		ID: it.id + "." + universe.StyleFunc, Corpus: it.corpus, Database: it.draft.Query.Schema.Name, Style: universe.StyleFunc,
		Source: it.example.Position.String(), Variant: it.variantOf, Split: universe.SplitTest,
		Messages: []universe.Message{{Role: "user", Content: it.example.Question}}, Evidence: it.example.Evidence,
		Difficulty: it.example.Difficulty, SQL: it.example.SQL, Gold: it.proof.Gold, Plans: plans,
		Literals: it.draft.Literals(it.example.Question), Proof: universe.ProofExecuted, Chance: it.proof.Chance,
		Facets: compile.Facets(it.draft.Query),
	}
	if t.Variant != "" {
		t.Variant += "." + universe.StyleFunc
	}
	if validation {
		t.Split = universe.SplitValidation
	}
	if it.proof.Certificate.Distinct < 3 {
		t.Flags = append(t.Flags, universe.FlagWeak)
	}
	if t.Chance.Level() > 0.10 {
		t.Flags = append(t.Flags, universe.FlagGuessable)
	}
	primary := plans[universe.Draw(b.opts.Seed, "primary", t.ID).IntN(len(plans))]
	in := &suite.Instance{
		ID: t.ID + "/" + condition.RoleClean, Task: t.ID, Role: condition.RoleClean, Conditions: []condition.Condition{},
		Primary: primary.Kind, Workflow: primary.Workflow, Seed: b.opts.Seed,
	}
	certificate := it.proof.Certificate
	certificate.Instance = in.ID
	s.Tasks = append(s.Tasks, t)
	s.Instances = append(s.Instances, in)
	s.Certificates = append(s.Certificates, &certificate)
}

// rejections lists what was rejected, in the order of the corpora.
func (b *builder) rejections(variants map[string][]*item) []*suite.Rejection {
	list := slices.Clone(b.rejected)
	refused := map[string][]*item{}
	for _, src := range b.sources {
		for _, v := range src.refused {
			refused[v.variantOf] = append(refused[v.variantOf], v)
		}
	}
	for _, it := range b.items {
		if it.rejection != nil {
			list = append(list, it.rejection)
		}
		list = append(list, it.droppedPlans()...)
		for _, v := range append(refused[it.id], variants[it.id]...) {
			if v.rejection != nil {
				list = append(list, v.rejection)
			}
			list = append(list, v.droppedPlans()...)
		}
	}
	return list
}

// droppedPlans names the plans of a published example that are left out because they do not hold.
func (it *item) droppedPlans() []*suite.Rejection {
	if it.rejection != nil || it.proof == nil {
		return nil
	}
	var list []*suite.Rejection
	for _, d := range it.proof.Dropped {
		at := it.example.Position
		list = append(list, &suite.Rejection{
			What: "plan", ID: it.id + "/" + d.Kind, Corpus: it.corpus, Database: it.example.Database, Style: universe.StyleFunc,
			Reason: d.Reason, File: at.File, Line: at.Line, Column: at.Column, Message: d.Message,
		})
	}
	return list
}

// recipes lists the queries whose rows and literals the neighbours were grown from.
func (b *builder) recipes() []*suite.Recipe {
	var list []*suite.Recipe
	for _, src := range b.sources {
		if len(src.recipeSQL) > 0 {
			list = append(list, &suite.Recipe{Database: src.name, Seed: b.opts.Seed, Neighbours: b.opts.Neighbours, SQL: src.recipeSQL})
		}
	}
	slices.SortFunc(list, func(x, y *suite.Recipe) int { return strings.Compare(x.Database, y.Database) })
	return list
}

func (b *builder) manifest(s *suite.Suite, published []*item) {
	m := &s.Manifest
	m.Name, m.Seed, m.Neighbours, m.Generator = b.opts.Name, b.opts.Seed, b.opts.Neighbours, suite.Generator
	for _, c := range b.corpora {
		m.Corpora = append(m.Corpora, suite.Corpus{
			Name: c.Name, Kind: c.Kind, Licence: c.Licence, Digest: c.Digest, Examples: len(c.Examples) + len(c.Rejected),
		})
	}
	m.Settings = map[string]string{
		"style": strings.Join(b.opts.Styles, ","), "split": b.opts.Split, "names": b.opts.Names,
		"max_rows": fmt.Sprint(b.opts.MaxRows), "keep_empty": fmt.Sprint(b.opts.KeepEmpty),
		"require_alternative": fmt.Sprint(b.opts.RequireAlternative), "augment": fmt.Sprint(b.opts.Augment),
		"validation_share": fmt.Sprint(b.opts.ValidationShare), "limit": fmt.Sprint(b.opts.Limit),
	}
	m.Counts = b.count(s, published)
	style := m.Counts
	m.Counts.Styles = map[string]*suite.Counts{universe.StyleFunc: &style}
}

func (b *builder) count(s *suite.Suite, published []*item) suite.Counts {
	c := suite.Counts{
		Read: b.read, Tools: len(b.tools), Tasks: len(s.Tasks), RejectedByReason: map[string]int{},
		Workflows: map[string]int{}, Instances: map[string]suite.InstanceCounts{},
	}
	for _, it := range b.items {
		if it.proof != nil && it.proof.Agrees() {
			c.Proven++
		}
	}
	for _, it := range published {
		if it.variantOf == "" {
			c.Published++
		} else {
			c.Variants++
		}
		if compile.Structured(it.draft.Query) {
			c.Structured++
		}
	}
	for _, r := range s.Rejected {
		switch r.What {
		case "variant":
			if c.VariantsRefused == nil {
				c.VariantsRefused = map[string]int{}
			}
			c.VariantsRefused[r.Reason]++
		case "plan":
			c.PlansDropped++
		default:
			c.Rejected++
			c.RejectedByReason[r.Reason]++
		}
	}
	for i, t := range s.Tasks {
		if len(t.Plans) > 1 {
			c.TasksWithAlternative++
		}
		if slices.Contains(t.Flags, universe.FlagWeak) {
			c.Weak++
		}
		if slices.Contains(t.Flags, universe.FlagGuessable) {
			c.Guessable++
		}
		c.Workflows[s.Instances[i].Workflow]++
		c.Mutants = c.Mutants.Add(s.Certificates[i].Mutants)
		c.JoinMutants = c.JoinMutants.Add(s.Certificates[i].Joins)
	}
	c.MutationScore = c.Mutants.Score()
	c.Instances[condition.RoleClean] = suite.InstanceCounts{Made: len(s.Instances), Certified: len(s.Instances)}
	return c
}
