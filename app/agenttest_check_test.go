package app_test

