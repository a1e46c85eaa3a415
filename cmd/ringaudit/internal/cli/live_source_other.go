//go:build !linux

package cli

// onTracefs tells whether a path lies in a mounted tracefs; only Linux has one.
func onTracefs(string) bool { return false }
