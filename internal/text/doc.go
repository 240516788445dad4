// Package text shows foreign words: names in files, arguments, messages of other programs. It escapes characters that
// control a terminal, are invisible or change the direction of writing, as \u001b. Documents reject such characters.
// All text that Weir prints, draws and writes passes through this package.
package text
