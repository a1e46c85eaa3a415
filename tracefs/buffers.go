package tracefs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Buffer names the folder of a ring buffer inside a source.
type Buffer struct {
	// Name is the instance's name: the folder's under instances/, or that of the
	// folder one level below the source. Empty for a tracefs at the source's
	// root, which is the top instance or a single saved one.
	Name string
	Dir  string // in the fs.FS
}

// FindBuffers finds the instances in a folder, live or saved:
//
//   - a folder with per_cpu is one tracefs; each folder under its instances is a
//     further buffer, and its snapshot file, if there is one, is another that
//     [Instance.Files] names;
//   - else each folder one level below that has per_cpu is a buffer of that name;
//   - folders named stats.* hold counters of other moments of the same buffer.
//     They are not looked into: name one to read it.
//
// The error is a [FileError] where dir cannot be listed and a [FormatError] where
// no buffer is found.
func FindBuffers(fsys fs.FS, dir string) ([]Buffer, error) {
	root, err := openFolder(fsys, dir)
	if err != nil {
		return nil, err
	}
	if e, ok := root.entries["per_cpu"]; ok && isFolder(fsys, root.path("per_cpu"), e) {
		return append([]Buffer{{Dir: dir}}, instances(fsys, root)...), nil
	}
	var out []Buffer
	for name, e := range root.entries {
		if strings.HasPrefix(name, "stats.") || !isFolder(fsys, root.path(name), e) {
			continue
		}
		if info, err := fs.Stat(fsys, path.Join(dir, name, "per_cpu")); err == nil && info.IsDir() {
			out = append(out, Buffer{Name: name, Dir: root.path(name)})
		}
	}
	slices.SortFunc(out, func(a, b Buffer) int { return strings.Compare(a.Name, b.Name) })
	if len(out) > 0 {
		return out, nil
	}
	e := &FormatError{File: dir, Found: root.names(5), Expected: "per_cpu, here or one folder below",
		Hint: "give the folder that holds per_cpu, or a single stats or trace file"}
	if len(root.entries) == 0 {
		e.Found = "an empty folder"
		e.Hint = "a tracefs that is not mounted there, or that kernel lockdown hides"
	} else if phases := root.phases(); phases != "" {
		e.Hint = "only counters of named moments are here: give one of " + phases
	}
	return nil, e
}

func (f folder) phases() string {
	var out []string
	for name := range f.entries {
		if strings.HasPrefix(name, "stats.") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func instances(fsys fs.FS, root folder) []Buffer {
	if !root.has("instances") {
		return nil
	}
	sub, err := openFolder(fsys, root.path("instances"))
	if err != nil {
		return nil // ReadInstance of the top one reports it
	}
	var out []Buffer
	for name, e := range sub.entries {
		if isFolder(fsys, sub.path(name), e) {
			out = append(out, Buffer{Name: name, Dir: sub.path(name)})
		}
	}
	slices.SortFunc(out, func(a, b Buffer) int { return strings.Compare(a.Name, b.Name) })
	return out
}
