package recovery

import (
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// changePlan goes on with the first plan whose tools are all there and none of which has been given up; with a
// preferred one where a source has been named. Where there is none, none is played any more. It says whether there is
// one.
func (p *Policy) changePlan(preferred string) bool {
	var best *task.Plan
	for _, plan := range p.plans {
		if !p.open(plan) {
			continue
		}
		if best == nil || preferred != "" && endTool(plan) == preferred && endTool(best) != preferred {
			best = plan
		}
	}
	for _, r := range p.runs {
		r.aside = false
	}
	p.current = nil
	if best != nil {
		p.current = p.runOf(best)
	}
	return best != nil
}

// open says whether a plan can still lead to the answer.
func (p *Policy) open(plan *task.Plan) bool {
	for i := range plan.Calls {
		name := plan.Calls[i].Tool
		if p.tool(name) == nil || p.states[name] != nil && p.states[name].dead != "" {
			return false
		}
	}
	at := slices.IndexFunc(p.runs, func(r *run) bool { return r.plan == plan })
	return at < 0 || !p.runs[at].failed
}

// another says whether there is an open plan beside that of a run.
func (p *Policy) another(than *run) bool {
	return slices.ContainsFunc(p.plans, func(plan *task.Plan) bool { return plan != than.plan && p.open(plan) })
}

func endTool(plan *task.Plan) string {
	for i := range plan.Calls {
		if plan.Calls[i].Label == plan.Answer {
			return plan.Calls[i].Tool
		}
	}
	return ""
}

// runOf gives the run of a plan, begun where it has not been.
func (p *Policy) runOf(plan *task.Plan) *run {
	for _, r := range p.runs {
		if r.plan == plan {
			return r
		}
	}
	r := &run{plan: plan, jobs: make([]*job, len(plan.Calls))}
	for i := range plan.Calls {
		r.jobs[i] = &job{run: r, call: &plan.Calls[i]}
	}
	p.runs = append(p.runs, r)
	return r
}

// answer gives the job whose result is the answer, nil where the plan calls nothing of that label.
func (r *run) answer() *job { return r.job(r.plan.Answer) }

func (r *run) job(label string) *job {
	for _, j := range r.jobs {
		if j.call.Label == label {
			return j
		}
	}
	return nil
}
