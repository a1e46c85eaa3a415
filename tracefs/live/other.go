//go:build !linux

package live

import "context"

// Discover returns ErrNotLinux.
func Discover() (*Mount, error) { return nil, ErrNotLinux }

// At returns ErrNotLinux.
func At(string) (*Mount, error) { return nil, ErrNotLinux }

// Cleanup returns ErrNotLinux.
func (m *Mount) Cleanup() ([]Leftover, error) { return nil, ErrNotLinux }

// Leftovers returns ErrNotLinux.
func (m *Mount) Leftovers() ([]Leftover, error) { return nil, ErrNotLinux }

// Capture returns ErrNotLinux.
func Capture(context.Context, *Mount, CaptureOptions) (*CaptureResult, error) {
	return nil, ErrNotLinux
}

// Abilities returns none.
func Abilities(*Mount) []Ability { return nil }

// Selftest returns ErrNotLinux.
func Selftest(*Mount, SelftestOptions) (*SelftestResult, error) { return nil, ErrNotLinux }
