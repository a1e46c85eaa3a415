//go:build !windows

package cli

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// wholeFile is a file that appears under its name when it is complete, and not
// before: written beside it and then renamed. A device or a pipe is written to
// as it is.
type wholeFile struct {
	*os.File
	pending *renameio.PendingFile // nil: written directly
	done    bool
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
		return &wholeFile{File: f}, nil
	}
	p, err := renameio.NewPendingFile(target, renameio.WithPermissions(0o666), renameio.WithTempDir(filepath.Dir(target)))
	if err != nil {
		return nil, err
	}
	return &wholeFile{File: p.File, pending: p}, nil
}

// Commit makes the file appear.
func (w *wholeFile) Commit() error {
	w.done = true
	if w.pending == nil {
		return w.Close()
	}
	return w.pending.CloseAtomicallyReplace()
}

// Abort leaves no trace of the file. It does nothing after Commit.
func (w *wholeFile) Abort() {
	switch {
	case w.pending != nil:
		// There is nothing more to do if the temporary file cannot be removed.
		_ = w.pending.Cleanup()
	case !w.done:
		w.Close()
	}
}
