package cli

import "weir/internal/command"

type docsCmd struct{ command.DocsFlags }

// Run shows the documentation, if its reader is linked in.
func (d *docsCmd) Run(a *app) error {
	docs, err := command.DocsCommand.Get()
	if err != nil {
		return err
	}
	return docs.Run(&d.DocsFlags, a.newEnv())
}
