// Package text shows words that others wrote: names in files, arguments, messages of other programs. What
// would act on a terminal, hide, or turn the writing around is shown as \u001b; documents refuse it.
// All that Weir prints, draws and writes goes through here.
package text
