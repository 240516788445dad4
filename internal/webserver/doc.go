// Package webserver has what all commands share that listen for HTTP: the check of the address, and a server with
// bounds on time and on connections.
package webserver
