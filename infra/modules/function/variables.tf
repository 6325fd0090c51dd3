variable "account" {
  description = "E-mail of the account that the function runs as."
  type        = string
}

variable "build" {
  description = "What it is built from and by whom: account (full name), bucket, object, repository (full name)."
  type = object({
    account    = string
    bucket     = string
    object     = string
    repository = string
  })
}

variable "entry_point" {
  description = "Name of the function in main.py."
  type        = string
}

variable "environment" {
  description = "Environment variables."
  type        = map(string)
}

variable "instances_max" {
  description = "How many instances may run at once."
  type        = number
}

variable "invoker" {
  description = "The only IAM member who may call it."
  type        = string
}

variable "kms_key" {
  description = "Key that encrypts it, or null for Google's own."
  type        = string
}

variable "labels" {
  description = "Labels."
  type        = map(string)
}

variable "memory_mib" {
  description = "Memory of one instance, in MiB."
  type        = number
}

variable "name" {
  description = "Name of the function and of its Cloud Run service."
  type        = string
}

variable "project" {
  description = "Project id, where its secrets are."
  type        = string
}

variable "region" {
  description = "Region."
  type        = string
}

variable "secrets" {
  description = "Environment variables that hold secrets: variable => secret id."
  type        = map(string)
}

variable "timeout_s" {
  description = "For how many seconds one request may run."
  type        = number
}

variable "url" {
  description = "Where its Cloud Run service listens."
  type        = string
}
