package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// This file says why an input cannot be opened, and what to do.

// openProblem says why a path cannot be opened, and what to do.
func openProblem(name string, err error) Problem {
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "no such file or folder"
		if l, lerr := os.Lstat(name); lerr == nil && l.Mode()&os.ModeSymlink != 0 {
			hint = "it is a symbolic link to something that is not here; copy the files it points to (cp -L)"
		}
	case errors.Is(err, fs.ErrPermission):
		hint = "permission denied: tracefs and its copies are root's by default; run as root, or chmod the copy"
	default:
		hint = reasonOf(err)
	}
	return Problem{Evidence: Evidence{}, CPU: Total, Unreadable: true, Message: fmt.Sprintf("%s: cannot be opened: %s", name, hint)}
}

// readProblem says that a path was opened and cannot be read.
func readProblem(name string, err error) Problem {
	return Problem{CPU: Total, Unreadable: true, Message: fmt.Sprintf("%s: cannot be read: %s", name, reasonOf(err))}
}

// notOpened tells whether an error is of a file that is not there or that may not
// be read, as against of what stands in it.
func notOpened(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// reasonOf is an error's own words without the path that it repeats.
func reasonOf(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// streamWord names a kind of source that is more than a stream.
func streamWord(k Kind) string {
	switch k {
	case KindPages:
		return "raw pages"
	case KindBundle:
		return "a bundle or archive"
	}
	return "a trace.dat"
}

// compressed says what to do with a file that is compressed with something that no
// source is; empty if it is not. Archives are compressed with gzip and zstd.
func compressed(head []byte) string {
	for _, c := range []struct{ magic, name, tool string }{
		{"\x1f\x8b\x08", "gzip", "gzip -d"},
		{"\x28\xb5\x2f\xfd", "zstd", "zstd -d"},
		{"\xfd7zXZ\x00", "xz", "xz -d"},
		{"BZh", "bzip2", "bzip2 -d"},
		{"\x04\x22\x4d\x18", "lz4", "lz4 -d"},
	} {
		if bytes.HasPrefix(head, []byte(c.magic)) && (c.name != "bzip2" || isBinary(head)) {
			return fmt.Sprintf("compressed with %s: unpack it first (%s)", c.name, c.tool)
		}
	}
	return ""
}
