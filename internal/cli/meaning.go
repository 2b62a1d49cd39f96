package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/cli/participants"
	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/embedding"
)

// vectorsOf gives the vectors of a suite, with those that a file holds, nil where the suite has none. What both lack is
// made at an address that is given, or at the provider's own where a key for it is at hand.
func (a *app) vectorsOf(s *suite.Suite, address string, kept []embedding.Record) (*embedding.Vectors, error) {
	spec := s.Manifest.Settings[suite.SettingEmbeddings]
	if spec == "" {
		return nil, nil
	}
	records := slices.Clone(kept)
	for _, r := range s.Vectors {
		records = append(records, *r)
	}
	embedder, err := a.embedderOf(spec, address)
	if err != nil {
		return nil, err
	}
	return embedding.New(spec, records, embedder)
}

// embedderOf gives what makes vectors at an address, or at the provider's own where a key for it is at hand; nil where
// neither is.
func (a *app) embedderOf(spec, address string) (embedding.Embedder, error) {
	providers := participants.At(a.Getenv, address)
	if !providers.Reachable(spec) {
		return nil, nil
	}
	return providers.Embedder(spec)
}

// servedVectors gives the vectors of a suite that is served. Without what makes those of queries it gives none:
// whatever agents search for, they would see the episode fail.
func (a *app) servedVectors(s *suite.Suite, address string) (episode.Vectors, error) {
	spec := s.Manifest.Settings[suite.SettingEmbeddings]
	if spec == "" {
		if address != "" {
			return nil, diag.Usagef("--embeddings-url is for suites whose tools are found by their meaning")
		}
		return nil, nil
	}
	embedder, err := a.embedderOf(spec, address)
	if err != nil || embedder == nil {
		return nil, err
	}
	vectors, err := a.vectorsOf(s, address, nil)
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

// searchVectors are the vectors of a run, which keeps those of what agents search for in a file beside its own.
type searchVectors struct {
	*embedding.Vectors
	path string
}

// Of is that of [embedding.Vectors].
func (v *searchVectors) Of(ctx context.Context, texts ...string) ([]embedding.Vector, error) {
	list, err := v.Vectors.Of(ctx, texts...)
	if err == nil && len(texts) == 1 { // a query: those of the tools are the suite's
		v.Keep(texts...)
	}
	return list, err
}

// close writes the file, where there is anything to keep.
func (v *searchVectors) close() error {
	records := v.Records()
	if len(records) == 0 {
		return nil
	}
	var text bytes.Buffer
	for i := range records {
		line, err := task.Marshal(&records[i])
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	partial := v.path + ".partial"
	if err := os.WriteFile(partial, text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(partial, v.path)
}

// openSearchVectors gives the vectors of a run, nil where its suite has none.
func (a *app) openSearchVectors(s *suite.Suite, o *settings.Run) (*searchVectors, error) {
	path := o.Out + ".vectors.jsonl"
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.Usagef("the vectors of earlier searches cannot be read: %v", err)
	}
	var kept []embedding.Record
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, len(data)+1)
	for n := 1; scan.Scan(); n++ {
		var r embedding.Record
		if err := task.DecodeStrict(scan.Bytes(), &r); err != nil {
			return nil, diag.Usagef("it holds no vector: %v", err).At(path, n,
				0).WithHint("remove the file: its vectors are made again")
		}
		kept = append(kept, r)
	}
	vectors, err := a.vectorsOf(s, o.EmbeddingsURL, kept)
	if err != nil || vectors == nil {
		return nil, err
	}
	for _, r := range kept {
		vectors.KeepRecord(r.Key)
	}
	return &searchVectors{vectors, path}, nil
}

// missingVectors says what can be done where a text has no vector.
func missingVectors(err error) error {
	var missing *embedding.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	return diag.Usagef("%s", strings.TrimSpace(missing.Error())).WithHint("--embeddings-url ADDRESS of the server that made those of the suite")
}
