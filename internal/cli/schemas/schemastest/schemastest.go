// Package schemastest validates documents by the schemas of Seatrial, with an implementation of JSON Schema that
// others wrote. Only tests import it; it must never be part of the program.
package schemastest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/seatrial/seatrial/internal/cli/schemas"
)

var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	all := map[string]*jsonschema.Schema{}
	for _, name := range schemas.Names() {
		text, err := schemas.Of(name)
		if err != nil {
			return nil, err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(name, document); err != nil {
			return nil, err
		}
		if all[name], err = compiler.Compile(name); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// Schema returns a schema by its name.
func Schema(name string) (*jsonschema.Schema, error) {
	all, err := compiled()
	if err == nil && all[name] == nil {
		err = fmt.Errorf("there is no schema %q", name)
	}
	return all[name], err
}

// Validate validates a document by the schema of that name.
func Validate(name string, text []byte) error {
	schema, err := Schema(name)
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(document)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%.500s", name, err, text)
	}
	return nil
}

// Output validates what a command printed: objects with a field format, one a line. It returns the names of their
// schemas, in the order of the lines.
func Output(text []byte) ([]string, error) {
	var names []string
	for line := range bytes.Lines(text) {
		var head struct {
			Format string `json:"format"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return nil, fmt.Errorf("this is not an object: %w\n%.500s", err, line)
		}
		name := schemas.Named(head.Format)
		if name == "" {
			return nil, fmt.Errorf("no schema has the format %q\n%.500s", head.Format, line)
		}
		if err := Validate(name, line); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}
