package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/seatrial/seatrial/internal/agent/command"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/serve/server"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// stderrSuffix is added to the name of a run for the folder of what its commands say on standard error.
const stderrSuffix = ".stderr"

// What the names of agents that are commands begin with, by the way in that they are told of.
const (
	prefixCmd = "cmd:"
	prefixMCP = "mcp:"
)

// Bounds of an episode of a command that nothing else bounds.
const (
	commandWall  = 600.0 // seconds
	commandTurns = 1000
	commandCalls = 1000
)

// Bounds around a command.
const (
	commandGrace   = 10 * time.Second // to end by itself once its episode has ended
	commandStderr  = 64 << 10         // bytes that are kept of its standard error
	commandLast    = 1 << 10          // bytes of it that stand in the transcript of one that crashed
	commandRequest = 100 << 10        // bytes of the longest request that an environment variable holds
)

// commandOptions are the flags of agents that are commands.
type commandOptions struct {
	hide []string // more that is kept from commands
	open bool     // nothing is
}

func (o *commandOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.hide, "hide", nil,
		"file or folder that commands may not read or change, beside the suite and the run; may be given several times")
	f.BoolVar(&o.open, "open-files", false, "let commands read all that you can, the suite too; the run is labelled so")
}

// Settings of runs with commands.
const (
	settingCommands = "commands"    // the agents that are commands, a line each
	settingFiles    = "suite_files" // whether commands could read the suite's files
	settingHide     = "hide"        // a line each

	filesHidden = "hidden"
	filesOpen   = "open"
)

// isCommand says whether an agent's name is that of a command.
func isCommand(name string) bool {
	return strings.HasPrefix(name, prefixCmd) || strings.HasPrefix(name, prefixMCP)
}

// commandsOf splits names of agents into those of policies and those that are commands.
func commandsOf(agents []string) (policies, commands []string) {
	for _, name := range agents {
		if isCommand(name) {
			commands = append(commands, name)
		} else {
			policies = append(policies, name)
		}
	}
	return policies, commands
}

// files says whether the commands of a run can read the suite's files.
func (o *commandOptions) files() string {
	if o.open || !command.CanHide() {
		return filesOpen
	}
	return filesHidden
}

func (o *commandOptions) settings(settings map[string]string, commands []string) {
	if len(commands) == 0 {
		return
	}
	settings[settingCommands], settings[settingFiles] = strings.Join(commands, "\n"), o.files()
	if len(o.hide) > 0 {
		settings[settingHide] = strings.Join(o.hide, "\n")
	}
}

func (o *commandOptions) restore(settings map[string]string) (commands []string) {
	if settings[settingCommands] == "" {
		return nil
	}
	o.open = settings[settingFiles] == filesOpen
	if settings[settingHide] != "" {
		o.hide = strings.Split(settings[settingHide], "\n")
	}
	return strings.Split(settings[settingCommands], "\n")
}

func (o *commandOptions) check(commands []string) error {
	if len(commands) == 0 && (o.open || len(o.hide) > 0) {
		return diag.Usagef("--hide and --open-files are for agents that are commands").WithHint("--agent 'cmd: python my_agent.py'")
	}
	if o.open && len(o.hide) > 0 {
		return diag.Usagef("--hide and --open-files exclude each other")
	}
	for _, path := range o.hide {
		if strings.Contains(path, "\n") {
			return diag.Usagef("--hide %q has more than one line", path)
		}
	}
	if len(o.hide) > 0 && !command.CanHide() {
		return diag.Usagef("--hide: this system cannot hide files from commands").WithHint("Linux from 5.13 on, with landlock")
	}
	return nil
}

// notesOf lists what a report has to say of how a run came about.
func notesOf(path string, settings map[string]string) []string {
	if settings[settingFiles] != filesOpen {
		return nil
	}
	return []string{path + ": the files of the suite, gold among them, were not hidden from the commands that acted as agents."}
}

// bench is where commands act: a server on the loopback address that serves the episodes of this run alone, and a
// folder.
type bench struct {
	core    *server.Episodes
	address string
	folder  *command.Scratch // with a folder for each episode under way
	stderr  string           // the folder for what commands say on standard error
	hide    []string
	env     []string // of the user, without what is said to Seatrial
	stop    context.CancelFunc
	served  chan error
}

// openBench makes a bench where a run has commands; nil where it has none.
func (a *app) openBench(ctx context.Context, o *runOptions, s *suite.Suite, worlds *proof.Worlds) (b *bench,
	err error) {
	if _, commands := commandsOf(o.agents); len(commands) == 0 {
		return nil, nil
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("commands: %w", err)
	}
	limits := server.DefaultLimits()
	limits.Idle, limits.Episodes = 1<<62, max(limits.Episodes, o.concurrency)
	core, err := server.NewEpisodes(ctx, server.Config{
		Suite: s, Worlds: worlds, Shown: o.shown(), Now: a.Now, Secret: secret, Limits: limits,
	})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, diag.Usagef("the agents' commands need a port of the loopback address: %v", err)
	}
	b = &bench{core: core, address: "http://" + listener.Addr().String(), stderr: o.out + stderrSuffix,
		served: make(chan error, 1)}
	if b.folder, err = command.NewScratch(); err != nil {
		return nil, errors.Join(fmt.Errorf("commands: %w", err), listener.Close())
	}
	for _, variable := range a.Environ() {
		if !strings.HasPrefix(variable, variablePrefix) {
			b.env = append(b.env, variable)
		}
	}
	if o.command.files() == filesHidden {
		b.hide = append([]string{s.Dir, o.out, o.out + "-wal", o.out + "-shm", b.stderr, b.folder.Path}, o.command.hide...)
		b.hide = append(b.hide, others(filepath.Dir(o.out))...)
		b.hide = append(b.hide, others(filepath.Dir(s.Dir))...)
		for _, path := range []string{o.record, o.replay} {
			if path != "" {
				b.hide = append(b.hide, path)
			}
		}
		a.warnOfCorpora(s, o.command.hide)
	}
	// Nobody has the operator's token: whoever acts in an episode has that episode's own, and reaches no other.
	handler := server.NewHandler(core, server.Options{Token: rand.Text(), Hosts: server.LoopbackHosts(),
		MaxDelay: time.Second})
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	go func() { b.served <- server.Serve(serving, listener, core, handler, server.DefaultConnections) }()
	return b, nil
}

// others lists the suites and the runs in a folder, with what belongs to them: gold stands in them, too.
func others(folder string) []string {
	entries, _ := os.ReadDir(folder) // what cannot be listed here cannot be listed by a command either
	var list []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, suite.FileManifest)); err == nil {
				list = append(list, path)
			}
		} else if entry.Type().IsRegular() && episode.IsRun(path) {
			list = append(list, path, path+"-wal", path+"-shm", path+stderrSuffix)
		}
	}
	return list
}

// warnOfCorpora says that nobody knows where the corpora are which a suite was built from: its manifest holds no paths.
func (a *app) warnOfCorpora(s *suite.Suite, hidden []string) {
	var names []string
	for _, c := range s.Manifest.Corpora {
		if c.Kind != "demo" {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 || len(hidden) > 0 {
		return
	}
	_, _ = fmt.Fprintf(a.Err, "seatrial: warning: commands can read the corpus %s, if it is on this machine: --hide its folder\n",
		strings.Join(names, ", ")) // nobody has to read it
}

// close ends the server. No episode is under way any more.
func (b *bench) close() error {
	b.stop()
	return errors.Join(<-b.served, b.folder.Close())
}

// commander makes a command a participant in each arm.
func (c *cast) commander(name string, arms []transcript.Arm) ([]episode.Participant, error) {
	text, protocol := strings.TrimPrefix(name, prefixCmd), "http"
	if over, is := strings.CutPrefix(name, prefixMCP); is {
		text, protocol = over, "mcp"
	}
	line, err := command.Parse(text)
	if err != nil {
		return nil, diag.Usagef("--agent %q cannot be read: %v", name, err).WithHint("--agent 'cmd: python my_agent.py'")
	}
	program, err := line.Find()
	if err != nil {
		return nil, diag.Usagef("--agent %q: there is no program %s that can be started: %v", name, line[0],
			errors.Unwrap(err)).
			WithHint("give its path, or put its folder into PATH")
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	var list []episode.Participant
	for _, arm := range arms {
		list = append(list, episode.Participant{
			Agent: name, Protocol: protocol, Arm: arm.String(), Model: true, Scale: arm.Budget,
			Budget: episode.TighterBudget(c.o.budget, task.Budget{Turns: commandTurns, Calls: commandCalls,
				WallSeconds: usual(c.o.budget.WallSeconds)}),
			Drive: func(in *suite.Instance, h transcript.Header) episode.Drive {
				r := &rider{bench: c.bench, stop: c.stop, name: name, line: line, program: program, mcp: protocol == "mcp",
					instance: in, header: h}
				return r.drive
			},
		})
	}
	return list, nil
}

// usual gives the wall time of an episode of a command: what was asked for, or else the usual one.
func usual(wall float64) float64 {
	if wall > 0 {
		return wall
	}
	return commandWall
}

// rider is one command in one episode.
type rider struct {
	bench    *bench
	stop     context.CancelCauseFunc // of the run
	name     string
	line     command.Line
	program  string
	mcp      bool
	instance *suite.Instance
	header   transcript.Header
}

// drive plays the episode: it lets the command act in the served episode, and takes what it says last for its answer
// where it has handed none in.
func (r *rider) drive(ctx context.Context, env *environment.Environment) ([]time.Duration, error) {
	e, err := r.bench.core.Host(r.instance, r.header, env)
	if err != nil {
		return nil, err
	}
	left := false
	leave := func() []time.Duration { left = true; return e.Leave() }
	defer func() {
		if !left {
			leave()
		}
	}()
	folder := filepath.Join(r.bench.folder.Path, r.header.ID)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // close removes what is left
	start, answerFile, err := r.start(folder, e)
	if err != nil {
		return nil, err
	}
	out, err := command.Run(ctx, start)
	decisions := leave()
	var notStarted *command.NotStartedError
	if errors.As(err, &notStarted) { // nor will it be in any other episode
		r.stop(diag.Usagef("--agent %q: %v", r.name,
			notStarted).WithHint("is it a program, and what its first line names there?"))
	}
	if err != nil {
		return decisions, err
	}
	if err := r.keepStderr(out); err != nil {
		return decisions, err
	}
	switch {
	case env.Done():
		return decisions, nil
	case ctx.Err() != nil:
		return decisions, context.Cause(ctx)
	case out.Signal != "" || out.Exit != 0:
		env.Finish(transcript.EndCrashed, crash(out))
		return decisions, nil
	}
	text, ok := out.Stdout.LastLine()
	if r.line.Has(command.PlaceAnswer) {
		if text, ok, err = readAnswer(answerFile); err != nil {
			return decisions, err
		}
	}
	word, said := command.Read(text)
	if !ok || !said {
		env.Finish(transcript.EndSilent, "the command ended without an answer")
		return decisions, nil
	}
	act := task.Action{Kind: task.ActionAnswer, Answer: word.Answer}
	if word.Declines {
		act = task.Action{Kind: task.ActionDecline, Text: word.Reason}
	}
	_, err = env.Step(ctx, task.Turn{Actions: []task.Action{act}})
	return decisions, err
}

// crash says how a command failed, with the last that it said on standard error.
func crash(out *command.Outcome) string {
	message := fmt.Sprintf("the command ended with status %d", out.Exit)
	if out.Signal != "" {
		message = "the command was ended by " + out.Signal
	}
	said, _ := out.Stderr.Bytes()
	if len(said) > commandLast {
		said = said[len(said)-commandLast:]
	}
	if text := strings.TrimSpace(strings.ToValidUTF8(string(said), "\uFFFD")); text != "" {
		message += ": " + text
	}
	return message
}

// readAnswer reads the file in which a command leaves its answer. One that is not there, is no file or is too long
// holds none.
func readAnswer(path string) (text string, ok bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("command: answer: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > command.MaxAnswer {
		return "", false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("command: answer: %w", err)
	}
	return string(data), true, nil
}

// keepStderr keeps what a command said on standard error beside the run.
func (r *rider) keepStderr(out *command.Outcome) error {
	said, _ := out.Stderr.Bytes()
	if len(said) == 0 {
		return nil
	}
	if err := os.MkdirAll(r.bench.stderr, 0o755); err != nil {
		return fmt.Errorf("command: standard error: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.bench.stderr, r.header.ID+".txt"), said, 0o644); err != nil {
		return fmt.Errorf("command: standard error: %w", err)
	}
	return nil
}

// start says how the command is started, and where it leaves its answer if its line names a file for it.
func (r *rider) start(folder string, e *server.Episode) (s *command.Start, answerFile string, err error) {
	url := r.bench.address + server.PathOf(e)
	request := requestText(e.View(), r.mcp)
	config := filepath.Join(folder, "mcp.json")
	answerFile = filepath.Join(folder, "answer")
	scratch := filepath.Join(folder, "tmp")
	text, err := task.Marshal(mcpConfig(url+"/mcp", e.Token()))
	if err == nil {
		err = os.WriteFile(config, text, 0o600)
	}
	if err == nil {
		err = os.Mkdir(scratch, 0o700)
	}
	if err != nil {
		return nil, "", fmt.Errorf("command: %w", err)
	}
	env := append(slices.Clone(r.bench.env),
		"SEATRIAL_URL="+url, "SEATRIAL_TOKEN="+e.Token(), "SEATRIAL_EPISODE="+r.header.ID, "SEATRIAL_MCP_URL="+url+"/mcp",
		"SEATRIAL_MCP_CONFIG="+config, "SEATRIAL_ANSWER="+answerFile, "TMPDIR="+scratch,
	)
	if len(request) <= commandRequest && !strings.Contains(request, "\x00") {
		env = append(env, "SEATRIAL_REQUEST="+request)
	}
	s = &command.Start{
		Path: r.program, Args: r.line.Fill(request, config, answerFile), Env: env, Ended: e.Ended(), Grace: commandGrace,
		Hide: r.bench.hide, Stderr: commandStderr,
	}
	if s.Hide != nil {
		s.Show = []string{folder}
	}
	if !r.line.Has(command.PlaceRequest) {
		s.Stdin = request + "\n"
	}
	return s, answerFile, nil
}

// mcpConfig is a configuration of MCP servers in the form that most clients read.
func mcpConfig(url, token string) any {
	type connection struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	return map[string]map[string]connection{
		"mcpServers": {"seatrial": {Type: "http", URL: url, Headers: map[string]string{"Authorization": "Bearer " + token}}},
	}
}

// requestText is what a command is asked, in words. Over MCP it says what to do with the answer too, since what is
// asked goes to a model as it is.
func requestText(view *task.View, mcp bool) string {
	var b strings.Builder
	for i, m := range view.Messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if len(view.Messages) > 1 {
			b.WriteString(m.Role + ": ")
		}
		b.WriteString(m.Content)
	}
	if view.Evidence != "" {
		b.WriteString("\n\nGood to know: " + view.Evidence)
	}
	if view.Hint != "" {
		b.WriteString("\n\n" + view.Hint)
	}
	if mcp {
		b.WriteString("\n\nUse the tools of the MCP server seatrial to meet this request, and nothing else. Hand in the answer, the bare value " +
			"or values that were asked for, by its tool for answers; if the request cannot be met with these tools, say so by its tool for declining.")
	}
	return b.String()
}

const commandHelp = "\nCommands:\n" +
	"  cmd: COMMAND    a program of yours, started for each episode: the request on standard input, or as an argument where the command\n" +
	"                  holds {request}; SEATRIAL_URL and SEATRIAL_TOKEN lead to its tools. Its answer is what it hands in over HTTP or\n" +
	"                  MCP, else its last line of standard output, or the file {answer} where the command names it\n" +
	"  mcp: COMMAND    the same for a client of MCP: {config} is the path of a file that tells it where its tools are\n"
