//go:build !unix

package cli

import "os"

// notifyResize: this system tells nobody; the next picture has the new size.
func notifyResize(chan os.Signal) {}
