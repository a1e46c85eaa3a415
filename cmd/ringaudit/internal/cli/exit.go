package cli

import (
	"errors"
	"fmt"
)

// Exit codes, the same in every format (docs/exit-codes.md).
const (
	exitOK         = 0 // complete or confirmed; every citation ok
	exitFindings   = 1 // findings at or above --fail-on
	exitUsage      = 2 // usage or configuration
	exitUndecided  = 3 // could not tell: evidence missing, input partial, tree not available
	exitUnreadable = 4 // input unreadable: I/O, permission, unknown format
)

// exitError carries the exit code that a command ends with. A nil Err ends
// silently: what there was to say is in the results already.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *exitError) Unwrap() error { return e.Err }

// usagef is an error of the command line or the configuration.
func usagef(format string, args ...any) error {
	return &exitError{Code: exitUsage, Err: fmt.Errorf(format, args...)}
}

// exitWith ends with code; err may be nil.
func exitWith(code int, err error) error {
	if code == exitOK && err == nil {
		return nil
	}
	return &exitError{Code: code, Err: err}
}

// codeOf is the exit code for err.
func codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	var e *exitError
	if errors.As(err, &e) {
		return e.Code
	}
	return exitUsage
}
