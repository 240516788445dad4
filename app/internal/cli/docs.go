package cli

import "weir/internal/command"

type docsCmd struct{ command.DocsFlags }

// Run shows the documentation. It returns an error if the reader of the documentation is not linked in.
func (d *docsCmd) Run(a *app) error {
	docs, err := command.DocsCommand.Get()
	if err != nil {
		return err
	}
	return docs.Run(&d.DocsFlags, a.newEnv())
}
