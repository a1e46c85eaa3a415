package cli

import (
	"os"

	"golang.org/x/term"
)

// terminalWidth tells whether f is a terminal, and how wide.
func terminalWidth(f *os.File) (int, bool) {
	if !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, true
	}
	return w, true
}
