package main

import (
	"bytes"
	"testing"

	"github.com/ringaudit/ringaudit/report"
)

// The committed schema is what the types say today.
func TestSchemaIsCurrent(t *testing.T) {
	t.Chdir("../..")
	got, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, report.JSONSchema()) {
		t.Error("report/schema is stale: run go generate ./report")
	}
}
