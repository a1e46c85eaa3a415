package blueprints

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ringaudit/ringaudit/citations"
)

// Options says from what blueprints are generated and against what they are
// checked. The zero Options takes everything from where the documents say that
// it is.
type Options struct {
	// BTF replaces the type information that the headers name: one column each,
	// in this order.
	BTF []*BTF
	// Evidence are folders in which the headers' evidence paths are looked for
	// before the blueprint's own folder. For a blueprint whose header names no
	// evidence, each is a source itself.
	Evidence []string
	// Trees are kernel source: citations are checked against them, and names that
	// BTF lacks are looked up in them. Without any, citations are held against
	// their lock alone, which the result says.
	Trees []*citations.Tree
	// Pins, if not nil, are the only trees that count.
	Pins *citations.Pins
}

// Dir is the blueprint's folder, which all its paths are relative to.
func (bp *Blueprint) Dir() string { return filepath.Dir(bp.File) }

// recordPath is how a source's file is written into a provenance line: relative
// to the blueprint's folder, so that no machine's paths get into a document. A
// file outside that was named by an absolute path leaves its base name alone.
func (bp *Blueprint) recordPath(file string) string {
	if file == RunningBTF {
		return file
	}
	if filepath.IsAbs(file) {
		dir, err := filepath.Abs(bp.Dir())
		if err != nil {
			return filepath.Base(file)
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.Base(file)
		}
		return filepath.ToSlash(rel)
	}
	if filepath.IsAbs(bp.Dir()) {
		if abs, err := filepath.Abs(file); err == nil {
			return bp.recordPath(abs)
		}
	}
	rel, err := filepath.Rel(bp.Dir(), file)
	if err != nil {
		return filepath.Base(file)
	}
	return filepath.ToSlash(rel)
}

// local is a recorded path as the system's file name.
func (bp *Blueprint) local(recorded string) string {
	if path.IsAbs(recorded) {
		return filepath.FromSlash(recorded)
	}
	return filepath.Join(bp.Dir(), filepath.FromSlash(recorded))
}

// findEvidence finds what a header calls by a path; the error is that of the
// blueprint's own folder.
func (bp *Blueprint) findEvidence(recorded string, roots []string) (string, error) {
	for _, root := range roots {
		for _, p := range []string{recorded, strings.TrimPrefix(recorded, filepath.Base(root)+"/")} {
			file := filepath.Join(root, filepath.FromSlash(p))
			if _, err := os.Stat(file); err == nil {
				return file, nil
			}
		}
	}
	if fs.ValidPath(recorded) || strings.HasPrefix(recorded, "../") {
		file := bp.local(recorded)
		_, err := os.Stat(file)
		return file, err
	}
	return "", &fs.PathError{Op: "open", Path: recorded, Err: fs.ErrInvalid}
}
