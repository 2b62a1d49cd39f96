package episode

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// recordJSON is the first line of a record on its way from the process that played the episode to the one that keeps
// the run. The transcript follows, as [transcript.Transcript.Encode] writes it.
type recordJSON struct {
	Digest    string            `json:"digest"` // of the transcript
	StartedAt time.Time         `json:"started_at"`
	Elapsed   time.Duration     `json:"elapsed"`
	Decisions []time.Duration   `json:"decisions,omitempty"`
	Account   json.RawMessage   `json:"account,omitempty"`
	Texts     map[string]string `json:"texts,omitempty"` // that Account names, by digest
}

// Encoder writes records for another process. It is safe for concurrent use.
type Encoder struct{ tools *toolTexts }

// NewEncoder returns an encoder.
func NewEncoder() *Encoder { return &Encoder{newToolTexts()} }

// Encode writes a record. Texts that the receiver already has are left out; known, which says so by
// digest, may be nil. Encode also returns the digests of the texts that it wrote.
func (e *Encoder) Encode(r *Record, known func(digest string) bool) (data []byte, texts []string, err error) {
	encoded, err := r.Transcript.Encode()
	if err != nil {
		return nil, nil, err
	}
	account, err := r.Account.encode(e.tools)
	if err != nil {
		return nil, nil, err
	}
	wire := recordJSON{
		Digest: digestOf(encoded), StartedAt: r.StartedAt, Elapsed: r.Elapsed, Decisions: r.Decisions,
	}
	if account != nil {
		wire.Account, wire.Texts = account.json, account.texts
		for digest := range account.texts {
			if known != nil && known(digest) {
				delete(wire.Texts, digest)
				continue
			}
			texts = append(texts, digest)
		}
	}
	data, err = task.Marshal(&wire)
	return slices.Concat(data, []byte("\n"), encoded), texts, err
}

// DecodeRecord reads what [Encoder.Encode] wrote, and checks its digests. [Run.Complete] makes it whole.
func DecodeRecord(data []byte) (*Record, error) {
	var wire recordJSON
	first, text, _ := bytes.Cut(data, []byte("\n"))
	if err := task.DecodeStrict(first, &wire); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if digestOf(text) != wire.Digest {
		return nil, errors.New("record: the transcript does not match its digest")
	}
	t, err := transcript.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if t.End() == nil || t.End().Usage == nil {
		return nil, fmt.Errorf("record: episode %s has not ended", t.Header.ID)
	}
	r := &Record{Transcript: t, StartedAt: wire.StartedAt, Elapsed: wire.Elapsed, Decisions: wire.Decisions}
	if wire.Account == nil {
		return r, nil
	}
	for digest, text := range wire.Texts {
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:12]) != digest {
			return nil, fmt.Errorf("record: a text does not match its digest %s", digest)
		}
	}
	r.kept = &keptAccount{json: wire.Account, texts: wire.Texts}
	return r, nil
}

// Digest is that of the transcript.
func (r *Record) Digest() (string, error) {
	encoded, err := r.Transcript.Encode()
	return digestOf(encoded), err
}
