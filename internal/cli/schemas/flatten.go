package schemas

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// flatten adds to the options the schemas of structs below a type that the library cannot make: of structs that embed
// several with the same Go name of a field (their JSON names differ, so encoding/json writes both), and of structs that
// embed one whose schema is a reference.
func flatten(t reflect.Type, o *jsonschema.ForOptions, seen map[reflect.Type]bool) error {
	if seen[t] || o.TypeSchemas[t] != nil {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return flatten(t.Elem(), o, seen)
	case reflect.Struct:
	default:
		return nil
	}
	for i := range t.NumField() {
		if err := flatten(t.Field(i).Type, o, seen); err != nil {
			return err
		}
	}
	written := fieldsOf(t)
	for _, f := range reflect.VisibleFields(t) {
		if isWritten(f) {
			delete(written, nameOf(f))
		}
	}
	if len(written) == 0 && !embedsReference(t, o) {
		return nil
	}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	all := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		f.Index, f.Offset, f.Anonymous = nil, 0, false
		one, err := jsonschema.ForType(reflect.StructOf([]reflect.StructField{f}), o)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		s.Properties[name] = one.Properties[name]
		s.Required = append(s.Required, one.Required...)
	}
	o.TypeSchemas[t] = s
	return nil
}

// embedsReference reports whether a struct embeds a type whose schema is a reference. The library accepts none there.
func embedsReference(t reflect.Type, o *jsonschema.ForOptions) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if s := o.TypeSchemas[f.Type]; f.Anonymous && !isWritten(f) && s != nil && s.Ref != "" {
			return true
		}
	}
	return false
}

// fieldsOf lists the fields that encoding/json writes of a struct, by their names there.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for i := range t.NumField() {
		f := t.Field(i)
		if isWritten(f) {
			fields[nameOf(f)] = f
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if !f.Anonymous || inner.Kind() != reflect.Struct || f.Tag.Get("json") == "-" {
			continue
		}
		for name, deeper := range fieldsOf(inner) {
			if _, nearer := fields[name]; !nearer {
				fields[name] = deeper
			}
		}
	}
	return fields
}

// isWritten reports whether a field is a member of the object, rather than embedded in it or left out.
func isWritten(f reflect.StructField) bool {
	tag := f.Tag.Get("json")
	return f.IsExported() && tag != "-" && (!f.Anonymous || nameIn(tag) != "")
}

func nameIn(tag string) string {
	name, _, _ := strings.Cut(tag, ",")
	return name
}

func nameOf(f reflect.StructField) string {
	if name := nameIn(f.Tag.Get("json")); name != "" {
		return name
	}
	return f.Name
}
