package task

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Schema is the part of JSON Schema that tool specifications use. Properties keep their order through the codec,
// because the order of arguments is part of a specification (CodeAct calls them by position).
type Schema struct {
	Types       []string   // one or more of string, integer, number, boolean, array, object, null
	Description string     // what it is
	Items       *Schema    // of an array
	Properties  []Property // of an object
	Required    []string   // of an object
	Closed      bool       // no other properties
	Enum        []any      // a closed set of values
	AnyOf       []*Schema  // at least one of these must match
	Pattern     string     // a regular expression that a text must match
}

// Property is a named part of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// Property returns the property of that name, or nil.
func (s *Schema) Property(name string) *Schema {
	for _, p := range s.Properties {
		if p.Name == name {
			return p.Schema
		}
	}
	return nil
}

// MarshalJSON writes standard JSON Schema with the properties in their order.
func (s *Schema) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	sep := ""
	field := func(name string, v any) error {
		text, err := Marshal(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, `%s%q:%s`, sep, name, text)
		sep = ","
		return nil
	}
	var err error
	add := func(name string, v any, present bool) {
		if present && err == nil {
			err = field(name, v)
		}
	}
	switch len(s.Types) {
	case 0:
	case 1:
		add("type", s.Types[0], true)
	default:
		add("type", s.Types, true)
	}
	add("description", s.Description, s.Description != "")
	if s.Enum != nil && err == nil {
		var values json.RawMessage
		if values, err = appendAny(nil, s.Enum); err == nil {
			add("enum", values, true)
		}
	}
	add("pattern", s.Pattern, s.Pattern != "")
	add("anyOf", s.AnyOf, s.AnyOf != nil)
	add("items", s.Items, s.Items != nil)
	isObject := len(s.Types) == 1 && s.Types[0] == "object"
	if isObject || s.Properties != nil {
		var properties bytes.Buffer
		properties.WriteByte('{')
		for i, p := range s.Properties {
			if i > 0 {
				properties.WriteByte(',')
			}
			name, nameErr := Marshal(p.Name)
			text, schemaErr := Marshal(p.Schema)
			if nameErr != nil || schemaErr != nil {
				return nil, fmt.Errorf("property %q: %w", p.Name, firstError(nameErr, schemaErr))
			}
			properties.Write(name)
			properties.WriteByte(':')
			properties.Write(text)
		}
		properties.WriteByte('}')
		add("properties", json.RawMessage(properties.Bytes()), true)
		required := s.Required
		if required == nil {
			required = []string{}
		}
		add("required", required, true)
	}
	add("additionalProperties", false, s.Closed)
	b.WriteByte('}')
	return b.Bytes(), err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// UnmarshalJSON reads what MarshalJSON writes; other keywords and repeated names are errors.
func (s *Schema) UnmarshalJSON(data []byte) error { return s.read(data, false) }

// ForeignSchema is a schema as others write it. It keeps the keywords that [Schema] has, and ignores the rest.
type ForeignSchema struct{ Schema }

// UnmarshalJSON reads any JSON Schema. It fails only if the text is not JSON.
func (s *ForeignSchema) UnmarshalJSON(data []byte) error { return s.read(data, true) }

// read reads a schema. If it is foreign, read ignores keywords that it does not know or that have another form.
func (s *Schema) read(data []byte, foreign bool) error {
	*s = Schema{}
	members, err := Members(data)
	if err != nil {
		if foreign && json.Valid(data) {
			return nil // true allows everything
		}
		return fmt.Errorf("a schema must be a JSON object")
	}
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.Name] && !foreign {
			return fmt.Errorf("schema keyword %q occurs twice", m.Name)
		}
		seen[m.Name] = true
		if err := s.setKeyword(m.Name, m.Value, foreign); err != nil && !foreign {
			return fmt.Errorf("schema keyword %q: %w", m.Name, err)
		}
	}
	return nil
}

func (s *Schema) setKeyword(key string, raw json.RawMessage, foreign bool) error {
	switch key {
	case "type":
		if len(raw) > 0 && raw[0] == '[' {
			return json.Unmarshal(raw, &s.Types)
		}
		var name *string
		if err := json.Unmarshal(raw, &name); err != nil {
			return err
		}
		if name == nil {
			return fmt.Errorf("must be a name or a list of names")
		}
		s.Types = []string{*name}
		return nil
	case "description":
		return json.Unmarshal(raw, &s.Description)
	case "enum":
		v, err := DecodeValue(raw)
		if err != nil {
			return err
		}
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("must be a list")
		}
		s.Enum = list
		return nil
	case "pattern":
		return json.Unmarshal(raw, &s.Pattern)
	case "anyOf":
		return s.setAnyOf(raw, foreign)
	case "items":
		s.Items = new(Schema)
		return s.Items.read(raw, foreign)
	case "properties":
		return s.setProperties(raw, foreign)
	case "required":
		if err := json.Unmarshal(raw, &s.Required); err != nil {
			return err
		}
		if len(s.Required) == 0 {
			s.Required = nil
		}
		return nil
	case "additionalProperties":
		var open bool
		if err := json.Unmarshal(raw, &open); err != nil {
			return err
		}
		s.Closed = !open
		return nil
	default:
		return fmt.Errorf("not supported")
	}
}

func (s *Schema) setAnyOf(raw json.RawMessage, foreign bool) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	s.AnyOf = make([]*Schema, len(list))
	for i := range list {
		s.AnyOf[i] = new(Schema)
		if err := s.AnyOf[i].read(list[i], foreign); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) setProperties(raw json.RawMessage, foreign bool) error {
	members, err := Members(raw)
	if err != nil {
		return fmt.Errorf("must be an object")
	}
	for _, m := range members {
		if s.Property(m.Name) != nil && foreign {
			continue
		} else if s.Property(m.Name) != nil {
			return fmt.Errorf("%q occurs twice", m.Name)
		}
		p := Property{Name: m.Name, Schema: new(Schema)}
		if err := p.Schema.read(m.Value, foreign); err != nil {
			return fmt.Errorf("%q: %w", m.Name, err)
		}
		s.Properties = append(s.Properties, p)
	}
	return nil
}
