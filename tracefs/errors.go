package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// FormatError says that an input as a whole is not what it was taken for: no
// line of it makes sense. Where only a line is wrong there is a [SyntaxError]
// instead, and the rest of the file is read.
type FormatError struct {
	File     string
	Found    string // the first thing that stands there, or what it looks like; shortened when printed
	Expected string
	Hint     string // what to do about it; may be empty
}

func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Found == "" {
		b.WriteString(": the file is empty, expected ")
	} else {
		fmt.Fprintf(&b, ": found %q, expected ", Shorten(e.Found, 80))
	}
	b.WriteString(e.Expected)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// FileError says that a file is there and could not be read, or that a folder
// is not there at all. It wraps the reason, so that
// errors.Is(err, fs.ErrPermission) works.
type FileError struct {
	File string
	Err  error
	Hint string // what to do about it; may be empty
}

func (e *FileError) Error() string {
	msg := e.File + ": " + reason(e.Err)
	if e.Hint != "" {
		msg += " (" + e.Hint + ")"
	}
	return msg
}

func (e *FileError) Unwrap() error { return e.Err }

// reason is what went wrong without the path that an fs.PathError repeats.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Err != nil {
		err = pe.Err
	}
	return err.Error()
}
