package fleet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// coordinated starts a server and a coordinator of no run: tests play its workers. said returns its notices so far.
func coordinated(t *testing.T) (c *Coordinator, worker *nats.Conn, said func() string) {
	t.Helper()
	broker, err := Listen("127.0.0.1:0", t.TempDir(), &Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	var mu sync.Mutex
	var notices []string
	notice := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, text)
	}
	connect := func() *nats.Conn {
		conn, err := Connect(t.Context(), t.Name(), &Access{Servers: []string{broker.Address()}}, nil, notice)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	c, err = Start(t.Context(), Config{
		Conn: connect(), ID: "r", Versions: "ours", Welcome: Welcome{Classes: []string{ClassPolicy}}, Folder: t.TempDir(),
		Conflicts: t.TempDir(), Replicas: 1, Window: 8, Concurrency: 8,
		Class: func(*transcript.Header) string { return ClassPolicy }, Notice: notice,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(false); err != nil {
			t.Error(err)
		}
	})
	return c, connect(), func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(notices, "\n")
	}
}

// played asks the coordinator for an episode, and returns how it ends.
func played(t *testing.T, c *Coordinator, id string) chan *episode.Record {
	t.Helper()
	result := make(chan *episode.Record, 1)
	ctx := t.Context()
	go func() {
		defer close(result)
		record, stored, err := c.Play(ctx, &episode.Order{Header: transcript.Header{ID: id}, Budget: &task.Budget{}})
		if err != nil {
			t.Error(err)
			return
		}
		stored(nil)
		result <- record
	}()
	return result
}

// orders hands each order to a worker, which acknowledges it. It returns what waits for the worker and counts them.
func orders(ctx context.Context, t *testing.T, conn *nats.Conn, take func(id string)) func() int {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.Consumer(ctx, names{"r"}.workStream(), ClassPolicy)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	n := 0
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		var wires []orderJSON
		if !decode(m.Data(), &wires) {
			t.Errorf("orders %q", m.Data())
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range wires {
			n++
			take(wires[i].Header.ID)
		}
		if err := m.Ack(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(consuming.Stop)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// TestAnOrderThatEverybodyReturnsEnds returns an order again and again: the episode ends, with the reason.
func TestAnOrderThatEverybodyReturnsEnds(t *testing.T) {
	c, conn, _ := coordinated(t)
	taken := orders(t.Context(), t, conn, func(id string) {
		if _, err := request(t.Context(), conn, c.names.ask(), &ask{
			Kind: askReturn, Worker: "w", ID: id, Reason: "there is no Python here",
		}); err != nil {
			t.Error(err)
		}
	})
	end := (<-played(t, c, "e")).Transcript.End()
	returned := fmt.Sprintf("returned the episode %d times", maxDeliver)
	if end.End != transcript.EndInternal || !strings.Contains(end.Message, returned) ||
		!strings.Contains(end.Message, "there is no Python here") {
		t.Errorf("%s: %s", end.End, end.Message)
	}
	if n := taken(); n != maxDeliver {
		t.Errorf("the order was given out %d times, want %d", n, maxDeliver)
	}
	if s := c.Status(); s.Returned != maxDeliver || s.UnderWay != 0 {
		t.Errorf("%d returned, %d under way", s.Returned, s.UnderWay)
	}
}

// TestRecordsThatCannotBeReadAreRefused sends records that are none, whole and in parts: the worker and the user are
// told why, and the order is given out again.
func TestRecordsThatCannotBeReadAreRefused(t *testing.T) {
	c, conn, said := coordinated(t)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	packed := pack([][]byte{[]byte(`{"digest":"of nothing"}` + "\nnone")})
	long := s2.Encode(nil, make([]byte, maxRecords+1))
	pieces := [][]byte{packed[:7], packed[7:9], packed[9:]}
	send := func(id, hash, part string, data []byte) {
		m := nats.NewMsg(c.names.done())
		m.Header.Set(headerEpisodes, id)
		m.Header.Set(headerWorker, "w")
		m.Header.Set(headerHash, hash)
		m.Header.Set(headerPart, part)
		m.Data = data
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	bad := []struct {
		send func(id string)
		want string
	}{
		{func(id string) { send(id, hashOf(packed), "1/1", packed) }, "the transcript does not match its digest"},
		{func(id string) { send(id, "another", "1/1", packed) }, "the record does not match its digest"},
		{func(id string) { send(id, hashOf([]byte("text")), "1/1", []byte("text")) }, "the record cannot be read"},
		{func(id string) { send(id, hashOf(long), "1/1", long) }, "at most 268435456 are accepted"},
		{func(id string) {
			for _, k := range []int{2, 0, 2, 1} { // in any order, some twice
				send(id, hashOf(packed), fmt.Sprintf("%d/3", k+1), pieces[k])
			}
		}, "the transcript does not match its digest"},
	}
	at := 0
	taken := orders(t.Context(), t, conn, func(id string) {
		if at < len(bad) {
			bad[at].send(id)
			at++
			return
		}
		if _, err := request(t.Context(), conn, c.names.ask(), &ask{Kind: askReturn, Worker: "w", ID: id}); err != nil {
			t.Error(err)
		}
	})
	<-played(t, c, "e")
	if n := taken(); n != maxDeliver {
		t.Errorf("the order was given out %d times, want %d", n, maxDeliver)
	}
	if s := c.Status(); s.Refused != len(bad) {
		t.Errorf("%d records were refused, want %d", s.Refused, len(bad))
	}
	for _, b := range bad {
		if !strings.Contains(said(), b.want) {
			t.Errorf("nobody was told %q:\n%s", b.want, said())
		}
	}
}

// TestAWorkerOfAnotherVersionIsRefused greets a coordinator as another version, and as the same.
func TestAWorkerOfAnotherVersionIsRefused(t *testing.T) {
	_, conn, _ := coordinated(t)
	notice := func(text string) { t.Error(text) }
	_, err := Greet(t.Context(), conn, "theirs", "", notice)
	if err == nil || !strings.Contains(err.Error(), "ours") || !strings.Contains(err.Error(), "theirs") {
		t.Errorf("%v", err)
	}
	if w, err := Greet(t.Context(), conn, "ours", "r", notice); err != nil || w.Run != "r" {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestSpooledRecordsOutliveTheirWorker keeps records, damages one, and reads the others again.
func TestSpooledRecordsOutliveTheirWorker(t *testing.T) {
	folder := t.TempDir()
	first, err := openSpool(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"a": []byte("one\ntwo\n"), "b": {0, 10, 255}, "c": {}}
	for id, data := range want {
		if err := first.keep(id, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.keep("a", want["a"]); err != nil { // an order may come twice
		t.Fatal(err)
	}
	for _, id := range []string{"d", "e"} {
		if err := first.keep(id, []byte("torn")); err != nil {
			t.Fatal(err)
		}
	}
	damage(t, first.path("d"))
	if err := first.remove("e"); err != nil {
		t.Fatal(err)
	}
	again, err := openSpool(folder)
	if err != nil {
		t.Fatal(err)
	}
	left, err := again.left()
	if err != nil || len(left) != len(want) {
		t.Fatalf("%v, %v", left, err)
	}
	for id, data := range want {
		if !bytes.Equal(left[id], data) {
			t.Errorf("%s is %q, want %q", id, left[id], data)
		}
	}
}

// damage drops the last byte of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-1], 0o600); err != nil {
		t.Fatal(err)
	}
}
