package cli

import (
	"os"
	"path/filepath"
)

// wholeFile is a file that appears under its name when it is complete, and not
// before: written beside it and then renamed.
type wholeFile struct {
	*os.File
	path   string
	direct bool // a device: written to as it is
	done   bool
}

// newWholeFile begins a file that is to become path. What is there stays until
// Commit.
func newWholeFile(path string) (*wholeFile, error) {
	target, direct, err := outputTarget(path)
	if err != nil {
		return nil, err
	}
	if direct {
		f, err := openDirect(target)
		if err != nil {
			return nil, err
		}
		return &wholeFile{File: f, direct: true}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(target), ".ringaudit-*")
	if err != nil {
		return nil, err
	}
	return &wholeFile{File: f, path: target}, nil
}

// Commit makes the file appear.
func (w *wholeFile) Commit() error {
	if w.direct {
		w.done = true
		return w.Close()
	}
	if err := w.Sync(); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.Rename(w.Name(), w.path); err != nil {
		return err
	}
	w.done = true
	return nil
}

// Abort leaves no trace of the file. It does nothing after Commit.
func (w *wholeFile) Abort() {
	if w.done {
		return
	}
	w.Close()
	if !w.direct {
		os.Remove(w.Name())
	}
}
