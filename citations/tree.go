package citations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// Tree is one version of kernel source. Opening it is cheap; [Tree.Load] reads
// the files that a run needs, each once.
type Tree struct {
	// Spec is the tree as given: a folder, an archive, REPOSITORY@REVISION.
	Spec string
	Kind string // directory, archive, extract, git, memory
	// Version is that of the tree's own Makefile; known after Load.
	Version Version
	// SHA256 is the hash of an archive's bytes, Commit the commit of a git tree.
	// Both are empty for other kinds.
	SHA256 string
	Commit string
	// Origin is what an extract was made of.
	Origin Origin
	// Permalink is the template of this tree's permalinks, empty for the default.
	Permalink string

	src    source
	files  map[string]*File
	dirs   map[string]bool // every folder that holds a file; nil: not known
	whole  bool            // the whole tree is there, not a part of it
	absent map[string]bool // of an extract: paths that its origin lacked
	store  *store
	err    error // why it cannot be used
}

// Origin is what an extract was made of.
type Origin struct {
	Name   string // base name of the archive or folder
	SHA256 string // of the archive
	Commit string // of the repository
}

// Err is why the tree cannot be used, nil if it can; a [*TreeError].
func (t *Tree) Err() error { return t.err }

// Name is how messages call the tree: its version, and its spec while that is
// not known.
func (t *Tree) Name() string {
	if t.Version.Known() {
		return t.Version.String()
	}
	return t.Spec
}

// File is a loaded file, nil if the tree lacks it or it was not asked for.
func (t *Tree) File(name string) *File { return t.files[name] }

// TreeError says why a tree cannot be used.
type TreeError struct {
	Spec string
	// Unreadable: it is there and cannot be read (exit 4). Otherwise it is not
	// to be had, or not the one that is pinned (exit 3).
	Unreadable bool
	Err        error
	Hint       string // how to obtain it
}

func (e *TreeError) Error() string {
	s := fmt.Sprintf("tree %s: %v", e.Spec, e.Err)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *TreeError) Unwrap() error { return e.Err }

func unreadable(spec string, format string, args ...any) *TreeError {
	return &TreeError{Spec: spec, Unreadable: true, Err: fmt.Errorf(format, args...)}
}

func unavailable(spec, hint string, format string, args ...any) *TreeError {
	return &TreeError{Spec: spec, Err: fmt.Errorf(format, args...), Hint: hint}
}

// TreeOptions bounds and places what reading trees may take. The zero value is
// useful.
type TreeOptions struct {
	// Cache is a folder that keeps the files taken out of large archives, so
	// that the next run need not unpack them; empty: no cache.
	Cache string
	// MaxBytes is how much an archive may unpack to before it is refused; 0: 4 GiB.
	MaxBytes int64
	// MaxFile is how large a file that is asked for may be; 0: 64 MiB.
	MaxFile int64
	// NoHelper keeps .tar.xz archives from being unpacked by the xz program.
	NoHelper bool
}

func (o TreeOptions) maxBytes() int64 {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return 4 << 30
}

func (o TreeOptions) maxFile() int64 {
	if o.MaxFile > 0 {
		return o.MaxFile
	}
	return 64 << 20
}

// need is what a run wants of a tree.
type need struct {
	files   map[string]bool
	folders []string // each ends in a slash
	all     bool
}

// folderSource tells whether an assertion about a folder looks at the file.
func folderSource(name string) bool {
	switch path.Ext(name) {
	case ".c", ".h", ".S":
		return true
	}
	return false
}

func (n *need) wants(name string) bool {
	if n.all || n.files[name] {
		return true
	}
	for _, f := range n.folders {
		if strings.HasPrefix(name, f) && folderSource(name) {
			return true
		}
	}
	return false
}

// found receives the files of a source. A source may call it from one goroutine
// only.
type found struct {
	file func(name string, data []byte) error
	dir  func(name string) // a folder that is there
	mark func(name string) // a file that is there, wanted or not; may be nil
}

// source is where a tree's bytes come from.
type source interface {
	// read hands over the wanted files, and says what folders there are.
	read(ctx context.Context, n *need, f *found) error
	// scan hands over every C source, header and text file, for searches.
	scan(ctx context.Context, visit func(name string, data []byte)) error
}

// markers of a whole tree: files that every kernel tree has at its top, far
// from whatever a document cites.
var wholeMarkers = []string{"MAINTAINERS", "init/main.c"}

// load reads what n needs into the tree, through a store that all trees of the
// run share.
func (t *Tree) load(ctx context.Context, n *need, st *store) error {
	if t.err != nil {
		return t.err
	}
	t.store = st
	t.files, t.dirs = make(map[string]*File), map[string]bool{".": true}
	seen := make(map[string]bool)
	ask := &need{files: map[string]bool{"Makefile": true}, folders: n.folders}
	for f := range n.files {
		ask.files[f] = true
	}
	addDir := func(d string) {
		for d != "." && d != "/" && !t.dirs[d] {
			t.dirs[d] = true
			d = path.Dir(d)
		}
	}
	err := t.src.read(ctx, ask, &found{
		file: func(name string, data []byte) error {
			t.files[name] = st.file(name, data)
			addDir(path.Dir(name))
			seen[name] = true
			return nil
		},
		dir:  addDir,
		mark: func(name string) { seen[name] = true },
	})
	if err != nil {
		var te *TreeError
		if !errors.As(err, &te) {
			te = &TreeError{Spec: t.Spec, Unreadable: true, Err: err}
		}
		t.err = te
		return te
	}
	t.whole = true
	for _, m := range wholeMarkers {
		t.whole = t.whole && seen[m]
	}
	if e, ok := t.src.(*archive); ok {
		t.SHA256 = e.sha256
		if e.manifest != nil {
			t.Kind, t.Origin, t.absent, t.whole = "extract", e.manifest.origin, e.manifest.absent, false
		}
	}
	if t.Version.Known() {
		return nil
	}
	mk := t.files["Makefile"]
	if mk == nil {
		t.err = unavailable(t.Spec, "give the top folder of a kernel tree", "no Makefile at its top, so its version cannot be told")
		return t.err
	}
	if t.Version, err = makefileVersion(mk.data); err != nil {
		t.err = unavailable(t.Spec, "give the top folder of a kernel tree", "%v", err)
		return t.err
	}
	return nil
}

// lacks tells what it means that the tree has no such file: that the kernel has
// none, or that the tree is a part of a kernel in which it could not be.
func (t *Tree) lacks(name string) (state State, why string) {
	if t.Kind == "extract" {
		if t.absent[name] {
			return Gone, fmt.Sprintf("%s is not in %s", name, t.Version)
		}
		return Unresolved, fmt.Sprintf("%s is not in this extract; make it again with cite extract", name)
	}
	dir := path.Dir(strings.TrimSuffix(name, "/"))
	if t.whole || t.dirs[dir] && !strings.HasSuffix(name, "/") {
		return Gone, fmt.Sprintf("%s is not in %s", name, t.Version)
	}
	return Unresolved, fmt.Sprintf("%s is not in this part of %s, which has no folder %s; give a whole tree", name, t.Version, dir)
}

// folder is the loaded files below a folder, sorted.
func (t *Tree) folder(dir string) (names []string) {
	for name := range t.files {
		if strings.HasPrefix(name, dir) && folderSource(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// store keeps each distinct file once, for all trees of a run.
type store struct {
	mu    sync.Mutex
	files map[string]*File
}

func newStore() *store { return &store{files: make(map[string]*File)} }

func (s *store) file(name string, data []byte) *File {
	f := newFile(name, data)
	key := f.Blob + path.Ext(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.files[key]; ok {
		return have
	}
	s.files[key] = f
	return f
}

// OpenTree finds out what a spec names: a folder, an archive (.tar, .tar.gz,
// .tar.xz, .tar.zst, told by content), or REPOSITORY@REVISION. It never fails
// outright: why a tree cannot be used is its Err, so that the other trees of a
// run can be checked.
func OpenTree(ctx context.Context, spec string, opts TreeOptions) *Tree {
	t := &Tree{Spec: filepath.ToSlash(spec)}
	fi, err := os.Stat(spec)
	switch {
	case err == nil && fi.IsDir():
		t.openDir(spec, opts)
	case err == nil && fi.Mode().IsRegular():
		t.openArchive(spec, opts)
	case err == nil:
		t.err = unreadable(t.Spec, "neither a folder nor a regular file")
	default:
		at := strings.LastIndex(spec, "@")
		if at > 0 && at < len(spec)-1 {
			t.openGit(ctx, spec[:at], spec[at+1:], opts)
			break
		}
		if errors.Is(err, os.ErrNotExist) {
			t.err = unavailable(t.Spec, "expected a folder, a .tar[.gz|.xz|.zst] archive, or REPOSITORY@REVISION", "there is no such file or folder")
		} else {
			t.err = &TreeError{Spec: t.Spec, Unreadable: true, Err: err}
		}
	}
	return t
}

func (t *Tree) openDir(dir string, opts TreeOptions) {
	if bare := isBareRepository(dir); bare {
		t.err = unavailable(t.Spec, "give a revision too: "+t.Spec+"@v6.12", "it is a bare git repository")
		return
	}
	t.Kind = "directory"
	t.src = &dirSource{dir: dir, opts: opts}
}

func isBareRepository(dir string) bool {
	for _, f := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			return false
		}
	}
	_, err := os.Stat(filepath.Join(dir, "Makefile"))
	return err != nil
}

// MemoryTree is a tree of the given files, for tests and for trying edits.
// Without a Makefile among them its version is v.
func MemoryTree(spec string, v Version, files map[string][]byte) *Tree {
	t := &Tree{Spec: spec, Kind: "memory", src: memorySource(files)}
	if _, ok := files["Makefile"]; !ok {
		t.Version = v
	}
	return t
}

type memorySource map[string][]byte

func (m memorySource) read(_ context.Context, n *need, f *found) error {
	for _, name := range sortedKeys(m) {
		f.mark(name)
		f.dir(path.Dir(name))
		if n.wants(name) {
			if err := f.file(name, m[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m memorySource) scan(_ context.Context, visit func(string, []byte)) error {
	for _, name := range sortedKeys(m) {
		visit(name, m[name])
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// searchable tells whether a search for a moved anchor looks at the file.
func searchable(name string) bool {
	switch path.Ext(name) {
	case ".c", ".h", ".S", ".rst", ".txt", ".rs", ".lds", ".tbl":
		return true
	}
	base := path.Base(name)
	return strings.HasPrefix(base, "Kconfig") || base == "Makefile" || base == "Kbuild"
}

// isBinary tells whether data is not text.
func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }
