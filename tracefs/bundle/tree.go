package bundle

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// tree is an archive's files as an [fs.FS]: an index over one [io.ReaderAt].
type tree struct {
	content io.ReaderAt
	nodes   map[string]*node // files and folders by clean path; "." is the root
}

type node struct {
	off, size int64
	mode      fs.FileMode
	children  map[string]bool // of a folder: names
}

func newTree(content io.ReaderAt) *tree {
	return &tree{content: content, nodes: map[string]*node{".": folder()}}
}

func folder() *node { return &node{mode: fs.ModeDir | 0o555, children: make(map[string]bool)} }

// add puts a file into the tree. It says why not where another entry has its
// place: which of two files of one name counts is nobody's to guess.
func (t *tree) add(name string, n node) (why string) {
	if _, ok := t.nodes[name]; ok {
		return "is in the archive twice, and only the first is read"
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if d, ok := t.nodes[dir]; ok && !d.mode.IsDir() {
			return "lies below " + shorten(dir) + ", which is a file"
		}
	}
	t.nodes[name] = &n
	for child := name; child != "."; child = path.Dir(child) {
		dir := path.Dir(child)
		d, ok := t.nodes[dir]
		if !ok {
			d = folder()
			t.nodes[dir] = d
		}
		d.children[path.Base(child)] = true
	}
	return ""
}

// rootFS is the tree, or the one folder that holds all of it.
func (t *tree) rootFS() fs.FS {
	root := t.nodes["."]
	if len(root.children) != 1 {
		return t
	}
	for name := range root.children {
		if t.nodes[name].mode.IsDir() {
			if sub, err := fs.Sub(t, name); err == nil {
				return sub
			}
		}
	}
	return t
}

func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	n, ok := t.nodes[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info := nodeInfo{name: path.Base(name), node: n}
	if n.mode.IsDir() {
		return &openDir{nodeInfo: info, tree: t, path: name}, nil
	}
	return &openFile{nodeInfo: info, SectionReader: io.NewSectionReader(t.content, n.off, n.size)}, nil
}

// nodeInfo is a node under its name, as [fs.FileInfo] and [fs.DirEntry].
type nodeInfo struct {
	name string
	node *node
}

func (i nodeInfo) Name() string               { return i.name }
func (i nodeInfo) Size() int64                { return i.node.size }
func (i nodeInfo) Mode() fs.FileMode          { return i.node.mode }
func (i nodeInfo) Type() fs.FileMode          { return i.node.mode.Type() }
func (i nodeInfo) ModTime() time.Time         { return time.Unix(0, 0) }
func (i nodeInfo) IsDir() bool                { return i.node.mode.IsDir() }
func (i nodeInfo) Sys() any                   { return nil }
func (i nodeInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i nodeInfo) String() string             { return fs.FormatDirEntry(i) }

type openFile struct {
	nodeInfo
	*io.SectionReader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.nodeInfo, nil }
func (f *openFile) Size() int64                { return f.node.size }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	nodeInfo
	tree *tree
	path string
	list []fs.DirEntry // what ReadDir has not given yet
	read bool
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.nodeInfo, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errors.New("is a directory")}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		d.read = true
		for _, name := range slices.SortedFunc(maps.Keys(d.node.children), strings.Compare) {
			d.list = append(d.list, nodeInfo{name: name, node: d.tree.nodes[path.Join(d.path, name)]})
		}
	}
	if n <= 0 {
		list := d.list
		d.list = nil
		return list, nil
	}
	if len(d.list) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.list))
	list := d.list[:n:n]
	d.list = d.list[n:]
	return list, nil
}
