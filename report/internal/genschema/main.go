// Command genschema writes the JSON Schema of report.Document from the types
// and their comments. Run it by "go generate ./report".
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/report"
)

// Where the schema goes, from the folder of package report.
const target = "schema/ringaudit.audit.v1.json"

func main() {
	b, err := generate()
	if err == nil {
		err = os.WriteFile(target, b, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genschema:", err)
		os.Exit(1)
	}
}

// generate makes the schema. The current folder must be that of package report:
// its comments become the descriptions.
func generate() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: true,
		Mapper:                    countRef,
	}
	if err := r.AddGoComments("github.com/ringaudit/ringaudit/report", ".", jsonschema.WithFullComment()); err != nil {
		return nil, err
	}
	for k, v := range r.CommentMap {
		r.CommentMap[k] = string(bytes.ReplaceAll([]byte(v), []byte("\n"), []byte(" ")))
	}
	s := r.Reflect(&report.Document{})
	s.Title = "ringaudit audit document, version 1"
	s.ID = jsonschema.ID("https://github.com/ringaudit/ringaudit/raw/main/report/schema/ringaudit.audit.v1.json")
	s.Definitions["Count"] = count()
	p, ok := s.Definitions["Document"].Properties.Get("schema")
	if !ok {
		return nil, fmt.Errorf("report.Document has no schema")
	}
	p.Const = report.Schema

	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// countRef stands for audit.Count, which writes itself as an interval.
func countRef(t reflect.Type) *jsonschema.Schema {
	if t != reflect.TypeFor[audit.Count]() {
		return nil
	}
	return &jsonschema.Schema{Ref: "#/$defs/Count"}
}

// count is the schema of that interval.
func count() *jsonschema.Schema {
	bound := func(doc string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "integer", Minimum: "0", Maximum: "18446744073709551615", Description: doc}
	}
	props := jsonschema.NewProperties()
	props.Set("lo", bound("At least so many."))
	props.Set("hi", bound("At most so many. Absent: no upper bound."))
	return &jsonschema.Schema{
		Type:        "object",
		Properties:  props,
		Required:    []string{"lo"},
		Description: "Count is a number of events, unless the quantity says otherwise, that is known to lie between two bounds, both inclusive. {\"lo\":0} says that nothing is known; {\"lo\":0,\"hi\":0} that there were none.",
	}
}
