variable "ack_deadline_s" {
  description = "After how many seconds an unanswered message is delivered again."
  type        = number
}

variable "agent" {
  description = "Pub/Sub's own service agent in the project, as an IAM member."
  type        = string
}

variable "attempts_max" {
  description = "How often a message is delivered before it becomes a dead letter."
  type        = number
}

variable "backoff_s_max" {
  description = "The longest pause between two deliveries, in seconds."
  type        = number
}

variable "backoff_s_min" {
  description = "The shortest pause between two deliveries, in seconds."
  type        = number
}

variable "channels" {
  description = "Notification channels that hear when messages wait."
  type        = list(string)
}

variable "dead_letter_topic" {
  description = "Full name of the topic for what nobody could handle; null only for the subscription of that topic."
  type        = string
}

variable "name" {
  description = "Name of the subscription."
  type        = string
}

variable "push_account" {
  description = "E-mail of the account that calls the function."
  type        = string
}

variable "retention_s" {
  description = "For how many seconds an undelivered message is kept."
  type        = number
}

variable "timeout_s" {
  description = "For how many seconds the function may run."
  type        = number
}

variable "topic" {
  description = "Name of the topic."
  type        = string
}

variable "unacked_s_max" {
  description = "How many seconds a message may wait before somebody is told."
  type        = number
}

variable "url" {
  description = "Where the function listens; also the audience of its callers' tokens."
  type        = string
}
