package blueprints

import (
	"embed"
	"sync"

	"github.com/ringaudit/ringaudit/citations"
)

// shippedFiles are the records and locks of this project's own blueprints.
//
//go:embed *.toml
var shippedFiles embed.FS

// Shipped is a record of this project's own blueprints, for those who cite it:
// the rules of package audit do.
type Shipped struct {
	ID    string
	Note  string // what it proves, in words
	Where string // path and symbol
	// Links are permalinks to the line, by kernel version.
	Links map[string]string
}

// ShippedRecord finds a record of this project's own blueprints by its id
// ("trace-ring-buffer-R12").
func ShippedRecord(id string) (Shipped, bool) {
	r, ok := shipped()[id]
	return r, ok
}

// shipped reads the embedded files once.
var shipped = sync.OnceValue(func() map[string]Shipped {
	out := map[string]Shipped{}
	entries, err := shippedFiles.ReadDir(".")
	if err != nil {
		return out
	}
	for _, e := range entries {
		const suffix = ".refs.toml"
		name := e.Name()
		if len(name) <= len(suffix) || name[len(name)-len(suffix):] != suffix {
			continue
		}
		base := name[:len(name)-len(suffix)]
		data, err := shippedFiles.ReadFile(name)
		if err != nil {
			continue
		}
		set, err := citations.ParseSet(base, name, data)
		if err != nil {
			continue
		}
		var lock *citations.Lock
		if data, err := shippedFiles.ReadFile(base + ".lock.toml"); err == nil {
			lock, _ = citations.ParseLock(base+".lock.toml", data)
		}
		for _, r := range set.References {
			out[r.ID] = Shipped{ID: r.ID, Note: r.Note, Where: where(r.Path, r.Symbol), Links: lock.Links(r.ID, nil)}
		}
		for _, a := range set.Assertions {
			out[a.ID] = Shipped{ID: a.ID, Note: a.Note, Where: a.Scope, Links: lock.Links(a.ID, nil)}
		}
	}
	return out
})

func where(path, symbol string) string {
	if symbol == "" {
		return path
	}
	return path + "#" + symbol
}
