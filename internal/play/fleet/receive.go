package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// parts are the messages of one record.
type parts struct {
	pieces   [][]byte
	messages []jetstream.Msg
	missing  int
	size     int // of the pieces, in bytes
}

// maxIncomplete bounds the records of which parts are missing. A record that is forgotten arrives again.
const maxIncomplete = 64

func compare(a, b string) int { return strings.Compare(a, b) }

// decode reads a message of Seatrial. What cannot be read is not for it.
func decode(data []byte, into any) bool { return json.Unmarshal(data, into) == nil }

// maxRecord bounds a record: a hostile worker must not fill the memory.
const maxRecord = 256 << 20

// receive takes one message with a record, or a part of it.
func (c *Coordinator) receive(ctx context.Context, m jetstream.Msg) {
	h := m.Headers()
	id, worker, hash := h.Get(headerEpisode), h.Get(headerWorker), h.Get(headerHash)
	var k, n int
	if _, err := fmt.Sscanf(h.Get(headerPart), "%d/%d", &k, &n); err != nil || k < 1 || k > n || n > 4096 {
		_ = m.TermWithReason("not a record") // nobody waits for it
		return
	}
	whole, messages := m.Data(), []jetstream.Msg{m}
	if n > 1 {
		key := worker + " " + id + " " + hash
		c.mu.Lock()
		p := c.parts[key]
		if p == nil || len(p.pieces) != n {
			if len(c.parts) >= maxIncomplete {
				clear(c.parts)
			}
			p = &parts{pieces: make([][]byte, n), missing: n}
			c.parts[key] = p
		}
		p.messages = append(p.messages, m)
		if p.pieces[k-1] == nil {
			p.pieces[k-1] = m.Data()
			p.missing, p.size = p.missing-1, p.size+len(m.Data())
		}
		if p.size > maxRecord {
			delete(c.parts, key)
			c.mu.Unlock()
			c.refuse(id, worker, fmt.Errorf("it has more than %d bytes", maxRecord), p.messages)
			return
		}
		if p.missing > 0 {
			c.mu.Unlock()
			return
		}
		delete(c.parts, key)
		c.mu.Unlock()
		whole, messages = nil, p.messages
		for _, piece := range p.pieces {
			whole = append(whole, piece...)
		}
	}
	finish := func(err error, known string) {
		for _, m := range messages {
			if err != nil {
				_ = m.NakWithDelay(time.Second) // or its time runs out
			} else {
				_ = m.Ack() // or it comes again, and is known
			}
		}
		if err == nil {
			c.notify(worker, notice{Committed: []string{id + " " + hash + known}})
		}
	}
	record, raw, err := unpack(whole, hash)
	if err == nil && record.Transcript.Header.ID != id {
		err = errors.New("it is a record of another episode")
	}
	if err == nil {
		err = c.Run.Owns(&record.Transcript.Header)
	}
	if err != nil {
		c.refuse(id, worker, err, messages)
		return
	}
	c.take(ctx, id, worker, record, raw, finish)
}

// unpack reads a packed record.
func unpack(data []byte, hash string) (*episode.Record, []byte, error) {
	n, err := s2.DecodedLen(data)
	if err == nil && n > maxRecord {
		err = fmt.Errorf("it has %d bytes; at most %d are accepted", n, maxRecord)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the record cannot be read: %w", err)
	}
	raw, err := s2.Decode(nil, data)
	if err != nil {
		return nil, nil, err
	}
	if hashOf(data) != hash {
		return nil, nil, errors.New("the record does not match its digest")
	}
	record, err := episode.DecodeRecord(raw)
	return record, raw, err
}

// pack is the inverse of unpack.
func pack(raw []byte) []byte { return s2.Encode(nil, raw) }

func hashOf(packed []byte) string {
	sum := sha256.Sum256(packed)
	return hex.EncodeToString(sum[:16])
}

// refuse drops a record that is none of this run, and gives its order out again.
func (c *Coordinator) refuse(id, worker string, why error, messages []jetstream.Msg) {
	for _, m := range messages {
		_ = m.TermWithReason("refused") // or it comes again, and is refused again
	}
	c.mu.Lock()
	c.counts.refused++
	c.mu.Unlock()
	c.Notice(fmt.Sprintf("a record of worker %s is refused: %v", c.nameOf(worker), why))
	c.notify(worker, notice{Refused: why.Error(), Episode: id})
	c.handBack(id, c.nameOf(worker), why.Error())
}

// take passes a record to who waits for it, commits one that came early, or compares one that came again.
func (c *Coordinator) take(
	ctx context.Context, id, worker string, record *episode.Record, raw []byte, finish func(error, string),
) {
	stored := func(err error) {
		if err == nil {
			c.mu.Lock()
			c.counts.committed++
			c.mu.Unlock()
		}
		finish(err, "")
	}
	if c.give(id, outcome{record, stored}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return // it stays in the stream for the next coordinator
	}
	if c.expected[id] != nil || c.early[id] != nil && !closed(c.early[id]) {
		c.running.Go(func() { finish(errors.New("the first record of the episode is not on disk yet"), "") })
		return
	}
	c.running.Go(func() { c.compare(ctx, id, worker, record, raw, finish) })
}

// repeated marks the acknowledgement of a record of which nothing was stored: neither were its texts.
const repeated = " repeated"

func closed(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// compare handles a record that nobody waits for: of an episode that is committed, or that was not given out yet by
// this coordinator.
func (c *Coordinator) compare(
	ctx context.Context, id, worker string, record *episode.Record, raw []byte, finish func(error, string),
) {
	if !transcript.Valid(record.Transcript.End().End) {
		finish(nil, repeated) // it is played again
		return
	}
	var kept string
	err := c.Run.Store.Some(ctx, []string{id}, func(e *episode.Stored) error {
		if transcript.Valid(e.Transcript.End().End) {
			kept = e.Digest
		}
		return nil
	})
	if err == nil {
		err = c.Run.Complete(ctx, record)
	}
	if err != nil {
		finish(err, "")
		return
	}
	if kept == "" {
		done := make(chan struct{})
		c.mu.Lock()
		if c.early[id] != nil {
			c.mu.Unlock()
			finish(errors.New("another record of the episode is being written"), "")
			return
		}
		c.early[id] = done
		c.mu.Unlock()
		stored := func(err error) {
			close(done)
			finish(err, "")
		}
		if err := c.Run.Store.Put(record, stored); err != nil {
			stored(err)
		}
		return
	}
	digest, err := record.Digest()
	if err == nil {
		c.mu.Lock()
		c.counts.repeated++
		c.mu.Unlock()
		if digest != kept {
			c.keepConflict(Conflict{Episode: id, Worker: c.nameOf(worker), Kept: kept, Other: digest}, raw)
		}
	}
	finish(err, repeated)
}

// notify sends a notice to one worker.
func (c *Coordinator) notify(worker string, n notice) {
	if data, err := task.Marshal(&n); err == nil && isToken(worker) {
		_ = c.Conn.Publish(c.names.to(worker), data) // the worker asks again
	}
}

// isToken reports whether a text can be part of a subject.
func isToken(text string) bool { return text != "" && !strings.ContainsAny(text, " .*>\t\r\n") }
