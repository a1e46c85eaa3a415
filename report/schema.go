package report

import _ "embed"

//go:generate go run ./internal/genschema

//go:embed schema/ringaudit.audit.v1.json
var jsonSchema []byte

// JSONSchema is the JSON Schema (draft 2020-12) of [Document]. It is made from
// the types and their comments; keys that it does not know are allowed,
// because v1 may grow.
func JSONSchema() []byte { return append([]byte(nil), jsonSchema...) }
