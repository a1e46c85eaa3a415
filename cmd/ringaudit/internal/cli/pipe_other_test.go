//go:build !unix

package cli

import "errors"

func makePipe(string) error { return errors.New("no named pipes here") }
