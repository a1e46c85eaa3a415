package citations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// dirSource is an unpacked tree. It is read through an [os.Root], so that no
// link in it leads out of it.
type dirSource struct {
	dir  string
	opts TreeOptions
}

func (d *dirSource) read(_ context.Context, n *need, f *found) error {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	read := func(name string) error {
		data, err := d.readFile(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return f.file(name, data)
	}
	for _, name := range sortedKeys(n.files) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if fi, err := root.Stat(filepath.FromSlash(dir)); err == nil && fi.IsDir() {
				f.dir(dir)
				break
			}
		}
		if err := read(name); err != nil {
			return err
		}
	}
	for _, m := range wholeMarkers {
		if fi, err := root.Stat(filepath.FromSlash(m)); err == nil && fi.Mode().IsRegular() {
			f.mark(m)
		}
	}
	for _, dir := range n.folders {
		err := fs.WalkDir(root.FS(), strings.TrimSuffix(dir, "/"), func(name string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case e.IsDir():
				f.dir(name)
			case e.Type().IsRegular() && folderSource(name) && !n.files[name]:
				return read(name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dirSource) readFile(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		if isEscape(err) {
			return nil, fmt.Errorf("%s is a link that leads out of the tree", name)
		}
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	if fi.Size() > d.opts.maxFile() {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d", name, fi.Size(), d.opts.maxFile())
	}
	data, err := io.ReadAll(io.LimitReader(file, d.opts.maxFile()+1))
	if int64(len(data)) > d.opts.maxFile() {
		return nil, fmt.Errorf("%s has more than %d bytes, the limit", name, d.opts.maxFile())
	}
	return data, err
}

// isEscape tells an [os.Root] that refused a path from other errors; the
// package has no error value for it.
func isEscape(err error) bool { return strings.Contains(err.Error(), "escapes from parent") }

func (d *dirSource) scan(ctx context.Context, visit func(string, []byte)) error {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // a folder that cannot be read holds no candidate
		}
		if e.IsDir() && name == ".git" {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || !searchable(name) {
			return ctx.Err()
		}
		if data, err := d.readFile(root, name); err == nil && !isBinary(data) {
			visit(name, data)
		}
		return ctx.Err()
	})
}
