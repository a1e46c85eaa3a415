package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/tracefs"
)

// guardLive puts the guard between the audit and a SOURCE that lies in a mounted
// tracefs: whoever names the live tracefs, an instance of it or one of its files
// by its path must not stop a recording or take events away by that.
//
// The error says which file is not opened, and why.
func guardLive(in audit.Input) (audit.Input, error) {
	if in.FS != nil || in.Reader != nil || !onTracefs(in.Path) {
		return in, nil
	}
	name, err := filepath.Abs(in.Path)
	if err != nil {
		return in, exitWith(exitUnreadable, err)
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return in, exitWith(exitUnreadable, err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return in, exitWith(exitUnreadable, err)
	}
	root := name
	for root != filepath.Dir(root) && onTracefs(filepath.Dir(root)) {
		root = filepath.Dir(root)
	}
	if root == name && !info.IsDir() {
		root = filepath.Dir(root) // one file, bound elsewhere
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return in, exitWith(exitUnreadable, err)
	}
	rel = filepath.ToSlash(rel)
	guard := tracefs.Guard(os.DirFS(root))
	if info.IsDir() {
		in.FS, in.Root, in.Live = guard, rel, true
		in.Machine = runningMachine()
		return in, nil
	}
	f, err := guard.Open(rel)
	switch {
	case errors.Is(err, tracefs.ErrRefused):
		return in, exitWith(exitUnreadable, fmt.Errorf("%s: %s; save its text to a file first, and audit that", in.Path, reasonText(err)))
	case err != nil:
		return in, exitWith(exitUnreadable, err)
	}
	in.Reader = f
	return in, nil
}
