// Command ringaudit tells what a Linux trace lost, where, and how we know.
package main

import (
	"os"

	"github.com/ringaudit/ringaudit/cmd/ringaudit/internal/cli"
)

func main() { os.Exit(cli.Main(cli.System(), os.Args[1:])) }
