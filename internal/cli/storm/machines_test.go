//go:build unix

package storm_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// process is a command that runs until it ends or is killed.
type process struct {
	cmd   *exec.Cmd
	said  bytes.Buffer
	ended chan error
}

func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, ended: make(chan error, 1)}
	cmd.Stderr = &p.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended in a test that passes
	return p
}

// over reports whether the process has ended, and how.
func (p *process) over() (bool, error) {
	select {
	case err := <-p.ended:
		p.ended <- err
		return true, err
	default:
		return false, nil
	}
}

// kill ends the process without a chance to do anything, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	err := <-p.ended
	p.ended <- err
}

// wait waits for the end.
func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.ended:
		p.ended <- err
		return err
	case <-time.After(patience):
		p.kill()
		t.Fatalf("%v: not ended after %s\n%s", p.cmd.Args, patience, p.said.String())
		return nil
	}
}

// fleet is a run that several processes play, and what an undisturbed process made of the same run.
type fleet struct {
	t       *testing.T
	dir     string
	address string
	token   string
	args    []string // of run, without --out
	want    map[string]string
	whole   time.Duration // that one process takes
	main    *process
	workers []*process
	started int
}

func newFleet(t *testing.T, trials int, agents ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), args: []string{someSuites(t)["func"], "--trials", fmt.Sprint(trials)}}
	for _, agent := range agents {
		f.args = append(f.args, "--agent", agent)
	}
	began := time.Now()
	whole := filepath.Join(f.dir, "whole")
	if p := launch(t, self(t, f.dir, append(append([]string{"run"}, f.args...), "--out", whole)...)); p.wait(t) != nil {
		t.Fatal(p.said.String())
	}
	f.whole = time.Since(began)
	f.want, _ = exported(t, whole)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = "nats://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	f.token = filepath.Join(f.dir, "token")
	if err := os.WriteFile(f.token, []byte(strings.Repeat("secret", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fleet) run() string { return filepath.Join(f.dir, "run") }

// coordinate starts the coordinator, or resumes its run.
func (f *fleet) coordinate(flags ...string) *process {
	args := append([]string{"run"}, f.args...)
	if _, begun := exported(f.t, f.run()); begun {
		args = []string{"resume", f.run()}
	} else {
		args = append(args, "--out", f.run())
	}
	f.main = launch(f.t, self(f.t, f.dir, append(args, flags...)...))
	return f.main
}

// work starts a worker. Workers of one number share a cache, one after the other.
func (f *fleet) work(number int, address string, flags ...string) *process {
	p := launch(f.t, self(f.t, f.dir, append([]string{"worker", address, "--token-file", f.token, "--cache",
		filepath.Join(f.dir, fmt.Sprintf("cache-%d", number)), "--workers", "2"}, flags...)...))
	for len(f.workers) <= number {
		f.workers = append(f.workers, nil)
	}
	f.workers[number] = p
	f.started++
	return p
}

// same checks that the run is what one process would have made, and that nothing is left beside it.
func (f *fleet) same(what string) {
	f.t.Helper()
	if got, _ := exported(f.t, f.run()); !maps.Equal(got, f.want) {
		for id, episode := range f.want {
			if got[id] != episode {
				f.t.Errorf("%s: episode %s:\n%.500s\nwant\n%.500s", what, id, got[id], episode)
				break
			}
		}
		f.t.Fatalf("%s: %d episodes, want %d, or they differ", what, len(got), len(f.want))
	}
	if left, _ := filepath.Glob(f.run() + "?*"); len(left) > 0 {
		f.t.Errorf("%s: a complete run leaves %q", what, left)
	}
}

// TestKilledMachinesLoseNothing kills the coordinator and its workers at random moments, and starts them again, until
// the run is complete. It is then what one process would have made of it.
func TestKilledMachinesLoseNothing(t *testing.T) {
	f := newFleet(t, 10, "gold", "random")
	random := rand.New(rand.NewPCG(7, 18))
	flags := []string{"--listen", f.address, "--token-file", f.token, "--own-workers", "1"}
	kills, completed := [3]int{}, 0
	for n := rounds(12, 1000); kills[0]+kills[1]+kills[2] < n; completed++ {
		f.coordinate(flags...)
		f.work(0, f.address)
		f.work(1, f.address)
		for {
			select {
			case err := <-f.main.ended:
				f.main.ended <- err
			case <-time.After(time.Duration(random.Float64() * 0.6 * float64(f.whole))):
			}
			if done, err := f.main.over(); done {
				if err != nil {
					t.Fatalf("the coordinator: %v\n%s", err, f.main.said.String())
				}
				break
			}
			switch victim := random.IntN(3); victim {
			case 2:
				f.main.kill()
				f.coordinate(flags...)
				kills[2]++
			default:
				f.workers[victim].kill()
				f.work(victim, f.address)
				kills[victim]++
			}
		}
		for _, w := range f.workers {
			w.kill() // one that was started at the end waits for the next run
		}
		f.same(fmt.Sprintf("after %v kills", kills))
		if err := os.Remove(f.run()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills of workers and %d of the coordinator; %d runs were completed by %d workers", kills[0]+kills[1],
		kills[2], completed, f.started)
}
