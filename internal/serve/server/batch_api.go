package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/serve/training"
	"github.com/seatrial/seatrial/internal/task"
)

// maxBatches bounds how many batches there are at a time.
const maxBatches = 256

// batches are those of an API, by handle.
type batches struct {
	mu   sync.Mutex
	list map[string]*training.Batch
	made int
}

type batchBody struct {
	Instances []string           `json:"instances"`
	Sampler   *training.Sampling `json:"sampler"`
	Size      int                `json:"size"`
	Hints     string             `json:"hints"`
	Scale     float64            `json:"scale"`
	Budget    task.Budget        `json:"budget"`
	Weights   *grade.Reward      `json:"weights"`
	AutoReset bool               `json:"auto_reset"`
	Tools     bool               `json:"tools"`
	Digests   bool               `json:"tools_digest"`
}

func (a *api) createBatch(w http.ResponseWriter, r *http.Request) {
	var body batchBody
	if !a.read(w, r, &body) {
		return
	}
	b, err := a.core.room.New(training.Request{
		Instances: body.Instances, Sampler: body.Sampler, Size: body.Size, Hints: body.Hints, Scale: body.Scale,
		Budget: body.Budget, Weights: body.Weights, AutoReset: body.AutoReset, Tools: body.Tools,
		Digests: body.Digests,
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	x := &a.batches
	x.mu.Lock()
	for name, old := range x.list { // those that no one has used for long make room
		if idle, ok := old.Idle(); ok && idle >= a.core.limits.Idle {
			delete(x.list, name)
		}
	}
	if len(x.list) >= maxBatches {
		x.mu.Unlock()
		a.fail(w, r, refuse(RefusedFull, "There are %d batches, and no more may be.", maxBatches))
		return
	}
	if x.list == nil {
		x.list = map[string]*training.Batch{}
	}
	x.made++
	name := a.core.sign("batch", strconv.Itoa(x.made))[:32]
	x.list[name] = b
	x.mu.Unlock()
	w.Header().Set("Location", "/v1/batches/"+name)
	a.write(w, r, http.StatusCreated, &struct {
		URL  string `json:"url"`
		Size int    `json:"size"`
	}{"/v1/batches/" + name, b.Size()})
}

func (a *api) batch(w http.ResponseWriter, r *http.Request) *training.Batch {
	a.batches.mu.Lock()
	b := a.batches.list[r.PathValue("batch")]
	a.batches.mu.Unlock()
	if b == nil {
		a.fail(w, r, refuse(RefusedUnknown, "There is no such batch, or it was not used for long."))
	}
	return b
}

func (a *api) deleteBatch(w http.ResponseWriter, r *http.Request) {
	if a.batch(w, r) == nil {
		return
	}
	a.batches.mu.Lock()
	delete(a.batches.list, r.PathValue("batch"))
	a.batches.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// batchView is what an agent is given at the start in one environment.
type batchView struct {
	Messages  []task.Message `json:"messages"`
	Evidence  string         `json:"evidence,omitempty"`
	Hint      string         `json:"hint,omitempty"`
	Starts    []startView    `json:"starts,omitempty"`
	Questions int            `json:"questions,omitempty"`
	Budget    task.Budget    `json:"budget"`
}

// showing says how views show their tools.
type showing struct{ tools, digest bool }

// appendView writes a view. Listings of tools are encoded already: see [training.Listings].
func (a *api) appendView(text []byte, v *task.View, show showing) ([]byte, error) {
	view, err := task.Marshal(batchViewOf(v))
	if err != nil || v == nil || !show.tools && !show.digest {
		return append(text, view...), err
	}
	listing, err := a.listings.Of(v.Tools)
	if err != nil {
		return text, err
	}
	text = append(text, view[:len(view)-1]...)
	switch {
	case show.digest:
		text = append(append(append(text, `,"tools_digest":"`...), listing.Digest...), '"')
	case len(v.Tools) > 0:
		text = append(append(text, `,"tools":`...), listing.Text...)
	}
	return append(text, '}'), nil
}

func batchViewOf(v *task.View) *batchView {
	if v == nil {
		return nil
	}
	return &batchView{
		Messages: v.Messages, Evidence: v.Evidence, Hint: v.Hint, Starts: startsOf(v), Questions: v.Questions,
		Budget: v.Budget,
	}
}

func (a *api) resetBatch(w http.ResponseWriter, r *http.Request) {
	b := a.batch(w, r)
	if b == nil {
		return
	}
	var body struct {
		Environments []int    `json:"environments"`
		Instances    []string `json:"instances"`
		Seed         *uint64  `json:"seed"`
		Tools        bool     `json:"tools"`
		Digests      bool     `json:"tools_digest"`
	}
	if !a.read(w, r, &body) {
		return
	}
	views, played, err := b.Reset(r.Context(), body.Environments, body.Instances, body.Seed)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	listed, digests := b.Tools()
	show := showing{body.Tools || listed, body.Digests || digests}
	text := []byte(`{"views":[`)
	for i, v := range views {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = a.appendView(text, v, show); err != nil {
			a.fail(w, r, err)
			return
		}
	}
	text = append(text, ']')
	if a.core.config.AliasKey != nil { // an id would name the conditions
		for i := range played {
			played[i] = a.core.Alias(played[i])
		}
		aliases, err := task.Marshal(played)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		text = append(append(text, `,"instances":`...), aliases...)
	}
	sendJSON(w, http.StatusOK, append(text, '}'))
}

// batchTools lists the tools of environments as their views had them, by the digests of the listings.
func (a *api) batchTools(w http.ResponseWriter, r *http.Request) {
	b := a.batch(w, r)
	if b == nil {
		return
	}
	var which []int
	for _, text := range r.URL.Query()["environment"] {
		i, err := strconv.Atoi(text)
		if err != nil {
			a.fail(w, r, refuse(training.RefusedBad, "%.20q is not the number of an environment.", text))
			return
		}
		which = append(which, i)
	}
	views, err := b.Views(r.Context(), which)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	listings := map[string]json.RawMessage{}
	for _, v := range views {
		listing, err := a.listings.Of(v.Tools)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		listings[listing.Digest] = listing.Text
	}
	a.write(w, r, http.StatusOK, map[string]any{"listings": listings})
}

func (a *api) stepBatch(w http.ResponseWriter, r *http.Request) {
	b := a.batch(w, r)
	if b == nil {
		return
	}
	var body struct {
		Turns []*stepBody `json:"turns"`
	}
	if !a.read(w, r, &body) {
		return
	}
	turns := make([]*task.Turn, len(body.Turns))
	for i, t := range body.Turns {
		if t != nil {
			turn := t.turn()
			turns[i] = &turn
		}
	}
	results, err := b.Step(r.Context(), turns)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	size := 64
	for i := range results {
		a.core.note(results[i].Failed)
		size += 64
		for j := range results[i].Observations {
			size += 160 + len(results[i].Observations[j].Content)
		}
	}
	text := append(make([]byte, 0, size), `{"results":[`...)
	for i := range results {
		if i > 0 {
			text = append(text, ',')
		}
		if turns[i] == nil {
			text = append(text, "null"...)
			continue
		}
		if text, err = a.appendResult(text, b, &results[i]); err != nil {
			a.fail(w, r, err)
			return
		}
	}
	sendJSON(w, http.StatusOK, append(text, `]}`...))
}

// appendResult writes the result of one environment's turn. Results of tools are JSON already and are copied.
func (a *api) appendResult(text []byte, b *training.Batch, r *training.Result) ([]byte, error) {
	text = append(text, `{"observations":[`...)
	for i := range r.Observations {
		if i > 0 {
			text = append(text, ',')
		}
		text = task.AppendObservation(text, &r.Observations[i])
	}
	text = append(text, `],"done":`...)
	text = strconv.AppendBool(text, r.Done)
	text = append(text, `,"terminated":`...)
	text = strconv.AppendBool(text, r.Done && !r.Truncated)
	text = append(text, `,"truncated":`...)
	text = strconv.AppendBool(text, r.Truncated)
	if r.Failed != nil {
		text = append(text, `,"failed":true`...)
	}
	if a.core.config.Rewards {
		text = append(text, `,"reward":`...)
		text = strconv.AppendFloat(text, r.Reward, 'g', -1, 64)
		if r.Ended && r.Failed == nil {
			measured, err := json.Marshal(r.Components)
			if err != nil {
				return nil, err
			}
			text = append(append(text, `,"outcome":"`...), r.Outcome...)
			text = append(append(text, `","components":`...), measured...)
		}
	}
	if r.View != nil {
		if a.core.config.AliasKey != nil {
			text = append(append(text, `,"instance":"`...), a.core.Alias(r.Instance)...)
			text = append(text, '"')
		}
		listed, digests := b.Tools()
		var err error
		if text, err = a.appendView(append(text, `,"view":`...), r.View, showing{listed, digests}); err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}
