package cli

import "syscall"

// tracefsMagic is the file system type of tracefs (include/uapi/linux/magic.h).
const tracefsMagic = 0x74726163

// onTracefs tells whether a path lies in a mounted tracefs.
func onTracefs(path string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && uint32(st.Type) == tracefsMagic
}
