//go:build slow

package softswitch_test

// everyAttack has all attacks carried out, and not only the worst.
const everyAttack = true
