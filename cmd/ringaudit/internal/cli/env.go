// Package cli is ringaudit's command line: one file per verb. It is the only
// package that knows of cobra, of streams and of exit codes.
package cli

import (
	"io"
	"os"
	"time"
)

// Env is all that a command may take from its surroundings, so that a test can
// give it others.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer // results only
	Stderr io.Writer // everything else
	Getenv func(string) string
	Now    func() time.Time
	// StdoutIsTerminal tells whether colour and a terminal's width may be used.
	StdoutIsTerminal bool
	// Width is the terminal's width in columns, 0 if unknown.
	Width int
}

// System is the Env of the running process.
func System() *Env {
	w, tty := terminalWidth(os.Stdout)
	return &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Now: time.Now,
		StdoutIsTerminal: tty, Width: w,
	}
}
