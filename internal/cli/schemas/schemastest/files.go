package schemastest

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seatrial/seatrial/internal/suite"
	_ "modernc.org/sqlite" // the driver of runs
)

// Count counts documents by the names of their schemas.
type Count map[string]int

// Valid validates a document and counts it.
func (c Count) Valid(name string, text []byte) error {
	c[name]++
	return Validate(name, text)
}

// lineSchemas are the schemas of the lines of a suite's files, by the names of the files.
var lineSchemas = map[string]string{
	suite.FileTasks: "task", suite.FileInstances: "instance", suite.FileCertificates: "certificate",
	suite.FileRejected: "rejection", suite.FileMade: "tool", suite.FileVerdicts: "review", suite.FileVectors: "vector",
	suite.FileRecipes: "recipe", suite.FileSources: "source", suite.FileSchemas: "database-schema",
	suite.FileTwins: "twin", suite.FileTranscripts: "played",
}

// Suite validates every file of a suite but databases and OpenAPI documents. A file without a schema is an error.
func (c Count) Suite(dir string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		top, _, _ := strings.Cut(name, "/")
		if top == suite.DirDatabases || top == suite.DirOpenAPI {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := c.file(name, top, text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
}

func (c Count) file(name, top string, text []byte) error {
	switch name {
	case suite.FileManifest:
		return c.Valid("suite", text)
	case suite.FileSignature:
		return c.Valid("signature", text)
	case suite.FileTranscripts:
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return err
		}
		if text, err = io.ReadAll(unpacked); err != nil {
			return err
		}
	}
	for line := range bytes.Lines(text) {
		schema := lineSchemas[name]
		switch {
		case top == suite.DirTools && path.Ext(name) == ".jsonl":
			schema = "tool"
		case name == suite.FileWritten && bytes.Contains(line, []byte(`"condition":`)):
			schema = "written-request"
		case name == suite.FileWritten:
			schema = "written-tool"
		case schema == "":
			return errors.New("no schema is for this file")
		}
		if err := c.Valid(schema, line); err != nil {
			return err
		}
		if name == suite.FileTranscripts {
			var played suite.Played
			if err := json.Unmarshal(line, &played); err != nil {
				return err
			}
			if err := c.transcript(played.Lines); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Count) transcript(lines []json.RawMessage) error {
	for i, line := range lines {
		name := "transcript-event"
		if i == 0 {
			name = "transcript-header"
		}
		if err := c.Valid(name, line); err != nil {
			return err
		}
	}
	return nil
}

// Lines validates the lines of a file by one schema.
func (c Count) Lines(name, file string) error {
	text, err := os.ReadFile(file)
	for line := range bytes.Lines(text) {
		err = errors.Join(err, c.Valid(name, line))
	}
	return err
}

// runColumns select the JSON of a run's file, by the name of its schema.
var runColumns = []struct{ name, query string }{
	{"settings", "SELECT settings FROM run"},
	{"transcript-event", "SELECT json FROM events ORDER BY episode, seq"},
	{"grade", "SELECT json FROM grades ORDER BY episode"},
	{"account", "SELECT json FROM accounts ORDER BY episode"},
}

// Run validates what the file of a run has as JSON. A lean run has no accounts.
func (c Count) Run(ctx context.Context, file string) (err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(file)+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, column := range runColumns {
		if err := c.column(ctx, db, column.name, column.query); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (c Count) column(ctx context.Context, db *sql.DB, name, query string) (err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil && strings.Contains(err.Error(), "no such table: accounts") {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if err := c.Valid(name, []byte(text)); err != nil {
			return err
		}
	}
	return rows.Err()
}
