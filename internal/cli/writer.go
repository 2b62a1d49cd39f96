package cli

import (
	"bytes"
	"context"
	"errors"

	"os"
	"strings"
	"time"

	"github.com/seatrial/seatrial/internal/build"
	"github.com/seatrial/seatrial/internal/compile"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/model"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/universe"
	"github.com/spf13/cobra"
)

// writerOptions are the flags of `build` that concern a writer.
type writerOptions struct {
	spec    string // PROVIDER/NAME
	written string // file of earlier texts
	baseURL string
	record  string
	replay  string
}

func (o *writerOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.spec, "writer", "", "model as PROVIDER/NAME that improves names and descriptions of the rest style; what it writes is checked and kept in the suite")
	f.StringVar(&o.written, "written", "", "written.jsonl of an earlier suite: what stands there is not asked for again")
	f.StringVar(&o.baseURL, "base-url", "", "address of an OpenAI- or Anthropic-compatible server, for the writer")
	f.StringVar(&o.record, "record", "", "file in which every exchange with the writer is recorded")
	f.StringVar(&o.replay, "replay", "", "file of recorded exchanges to answer the writer's requests from, offline")
}

// writer is a chat model that writes texts.
type writer struct{ client model.Client }

// Write asks for one text.
func (w writer) Write(ctx context.Context, prompt string) (string, error) {
	zero := 0.0
	reply, err := w.client.Complete(ctx, model.Request{
		Messages: []model.Message{{Role: model.RoleUser, Content: prompt}}, Temperature: &zero,
	})
	if err != nil {
		return "", err
	}
	return reply.Message.Content, nil
}

// openWriter makes the writer of a build, where one is asked for. done closes what it uses.
func (a *app) openWriter(o *writerOptions, b *build.Options) (done func() error, err error) {
	done = func() error { return nil }
	if o.written != "" {
		if b.Written, err = readWritten(o.written); err != nil {
			return done, err
		}
	}
	if o.spec == "" {
		if o.written != "" || o.record != "" || o.replay != "" {
			return done, diag.Usagef("--written, --record and --replay are for a writer").WithHint("--writer PROVIDER/NAME")
		}
		return done, nil
	}
	if o.record != "" && o.replay != "" {
		return done, diag.Usagef("--record and --replay exclude each other")
	}
	options, record, err := a.modelOptions(&runOptions{
		baseURL: o.baseURL, record: o.record, replay: o.replay, timeout: 5 * time.Minute,
	})
	if err != nil {
		return done, err
	}
	if record != nil {
		done = record.Close
	}
	client, err := a.openModel(o.spec, options, model.Rates{})
	if err != nil {
		return done, err
	}
	b.Writer, b.WriterName = writer{client}, o.spec
	return done, nil
}

// openModel opens a model with its provider's key and address from the environment.
func (a *app) openModel(spec string, options model.Options, rates model.Rates) (model.Client, error) {
	provider, _, _ := strings.Cut(spec, "/")
	options.APIKey = a.Getenv(strings.ToUpper(provider) + "_API_KEY")
	if options.BaseURL == "" {
		options.BaseURL = a.Getenv(strings.ToUpper(provider) + "_BASE_URL")
	}
	options.Limits = model.NewLimits(rates)
	return model.Open(spec, options)
}

// writerError says that a build ended because its writer's provider failed.
func writerError(err error) error {
	var failed *model.ProviderError
	if !errors.As(err, &failed) {
		return err
	}
	e := &diag.Error{Exit: diag.ExitProvider, Message: err.Error(), Cause: err}
	return e.WithHint("nothing was written; what --record kept can be replayed")
}

func readWritten(path string) ([]compile.Written, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.Usagef("what was written before cannot be read: %v", err)
	}
	var list []compile.Written
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		var w compile.Written
		if err := universe.DecodeStrict(line, &w); err != nil {
			return nil, diag.Usagef("%v", err).At(path, i+1, 0).WithHint("give the %s of a suite", suite.FileWritten)
		}
		list = append(list, w)
	}
	return list, nil
}
