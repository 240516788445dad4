// Package webserver has the server of all commands that listen for HTTP: with bounds on time and on connections.
// Package bind checks where they listen.
package webserver
