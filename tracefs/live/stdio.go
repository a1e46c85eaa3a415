package live

import "io"

// Stdio is what a command of ours reads and writes; nil members are the null
// device.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}
