package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// verbs makes the commands, in the order in which help lists them. Each lives
// in a file of its name.
var verbs = []func(*Env) *cobra.Command{
	newAuditCmd,
	newSnapshotCmd,
	newCaptureCmd,
	newWatchCmd,
	newSizeCmd,
	newRenderCmd,
	newExplainCmd,
	newSalvageCmd,
	newDemoCmd,
	newBlueprintCmd,
	newCiteCmd,
	newDoctorCmd,
	newVersionCmd,
}

// Main runs one command line and returns its exit code.
func Main(env *Env, args []string) int {
	root := newRootCmd(env)
	root.SetArgs(args)
	err := root.Execute()
	code := codeOf(err)
	if err != nil {
		if msg := messageOf(err); msg != "" {
			fmt.Fprintf(env.Stderr, "ringaudit: %s\n", msg)
		}
	}
	return code
}

// messageOf is what to print of err, empty if its say is in the results.
func messageOf(err error) string {
	if e, ok := err.(*exitError); ok {
		if e.Err == nil {
			return ""
		}
		return e.Err.Error()
	}
	return err.Error()
}

func newRootCmd(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "ringaudit",
		Short:         "Tells what a Linux trace lost, where, and how we know",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetIn(env.Stdin)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v (see '%s --help')", err, cmd.CommandPath())
	})
	for _, mk := range verbs {
		root.AddCommand(mk(env))
	}
	return root
}
