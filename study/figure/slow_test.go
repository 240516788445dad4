//go:build slow

package figure

func init() { allScripts = true }
