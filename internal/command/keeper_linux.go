package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Files of a keeper beside the standard ones.
const (
	fdCharge = 3 // the charge, as one line; its end says that everything is to be killed
	fdStatus = 4 // what became of the program
)

// charge is what a keeper is told to run.
type charge struct {
	Path       string
	Args, Env  []string
	Hide, Show []string
}

// status is what a keeper reports.
type status struct {
	Exit   int
	Signal string
	Start  string // why the program could not be started
	Fault  string // Seatrial's own failure
}

// kept is a program in the keeping of a keeper.
type kept struct {
	start  *Start
	out    *Outcome
	cmd    *exec.Cmd
	charge *os.File // closing it kills
	status *os.File
}

// begin starts a keeper, which starts the program.
func begin(s *Start, out *Outcome) (*kept, error) {
	path, err := self()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(charge{Path: s.Path, Args: s.Args, Env: s.Env, Hide: s.Hide, Show: s.Show})
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	theirCharge, charge, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	status, theirStatus, err := os.Pipe()
	if err != nil {
		closeAll(theirCharge, charge)
		return nil, fmt.Errorf("keeper: %w", err)
	}
	// A group of its own: an interrupt at the terminal is Seatrial's to deal with.
	cmd := &exec.Cmd{
		Path: path, Args: []string{"seatrial", KeeperArgument}, Env: s.Env, ExtraFiles: []*os.File{theirCharge, theirStatus},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	pour(cmd, s, out)
	err = cmd.Start()
	closeAll(theirCharge, theirStatus)
	if err == nil {
		_, err = charge.Write(append(text, '\n'))
	}
	k := &kept{start: s, out: out, cmd: cmd, charge: charge, status: status}
	if err != nil {
		closeAll(charge)
		if cmd.Process != nil {
			_ = cmd.Wait() // it reads no charge, and ends
		}
		closeAll(status)
		return nil, fmt.Errorf("keeper: %w", err)
	}
	return k, nil
}

// kill has the keeper kill everything. It may be called more than once.
func (k *kept) kill() { closeAll(k.charge) }

func (k *kept) wait() error {
	defer closeAll(k.charge, k.status)
	text, readErr := io.ReadAll(k.status) // ends with the keeper
	if err := ignoreEnd(k.cmd.Wait()); err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	var s status
	if readErr != nil || json.Unmarshal(text, &s) != nil { // somebody killed the keeper; its program dies with it
		_ = unix.Kill(-k.cmd.Process.Pid, unix.SIGKILL)
		k.out.Signal = "SIGKILL"
		return nil
	}
	switch {
	case s.Fault != "":
		return fmt.Errorf("keeper: %s", s.Fault)
	case s.Start != "":
		return &NotStartedError{Path: k.start.Path, Err: fmt.Errorf("%s", s.Start)}
	}
	k.out.Exit, k.out.Signal = s.Exit, s.Signal
	return nil
}

// Keep is the keeper: it starts the program that it is charged with, and ends once that program and all that came of it have. It is
// the parent of whatever is orphaned below it, so that nothing leaves its keeping. It gives the exit code of its process.
func Keep() int {
	var s status
	if err := keep(&s); err != nil {
		s.Fault = err.Error()
	}
	text, err := json.Marshal(&s)
	if err == nil {
		_, err = os.NewFile(fdStatus, "status").Write(text)
	}
	if err != nil {
		return 1
	}
	return 0
}

func keep(s *status) error {
	// The restriction, and the death that follows the parent's, belong to a thread: this one starts the program and stays.
	runtime.LockOSThread()
	unix.CloseOnExec(fdCharge)
	unix.CloseOnExec(fdStatus)
	from := bufio.NewReader(os.NewFile(fdCharge, "charge"))
	line, err := from.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no charge: %w", err)
	}
	var c charge
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("charge: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("subreaper: %w", err)
	}
	if len(c.Hide) > 0 {
		if err := hide(c.Hide, c.Show); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	child, err := syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
		Env: c.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		s.Start = err.Error()
		return nil
	}
	// What is poured in and out is the program's alone.
	for fd := range 3 {
		if err := unix.Close(fd); err != nil {
			killChildren()
			return fmt.Errorf("streams: %w", err)
		}
	}
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, from) // its end is all it says
		over.Store(true)
		killChildren()
	}()
	for {
		var how unix.WaitStatus
		pid, err := unix.Wait4(-1, &how, 0, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ECHILD:
			return nil
		case err != nil:
			return fmt.Errorf("wait: %w", err)
		}
		if pid == child {
			s.Exit = how.ExitStatus()
			if how.Signaled() {
				s.Signal = unix.SignalName(how.Signal())
			}
			over.Store(true) // what the program leaves behind goes with it
		}
		if over.Load() {
			killChildren()
		}
	}
}

// killChildren kills every child of this process. Their own children become this process's before they are reaped, so that a killing
// after each reaping leaves none.
func killChildren() {
	me := os.Getpid()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return // the death of this process ends the program at least
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parentOf(pid) == me {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have died meanwhile
		}
	}
}

// parentOf gives the parent of a process, 0 where there is no such process.
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// "pid (name) state parent ...", and the name may hold anything.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
